//! Progress bars: on a terminal only, after two seconds.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bench::tpch::LoadEvent;
use engine::Database;
use indicatif::{ProgressBar, ProgressStyle};

/// Work shorter than this shows no bar.
const SILENT: Duration = Duration::from_secs(2);

/// Between two looks at a job.
const TICK: Duration = Duration::from_millis(100);

/// The bar of a load; without a terminal, a line per table.
pub struct Bar {
    bar: ProgressBar,
    started: Instant,
    phase: Arc<Mutex<String>>,
    done: Arc<AtomicBool>,
    watcher: Option<std::thread::JoinHandle<()>>,
    terminal: bool,
}

impl Bar {
    /// A bar that also follows the database's jobs.
    pub fn new(db: Database) -> Bar {
        let terminal = std::io::stderr().is_terminal();
        let bar = if terminal { ProgressBar::new(0) } else { ProgressBar::hidden() };
        let style = "{msg:<28} {bar:40} {percent:>3}% {elapsed}";
        bar.set_style(ProgressStyle::with_template(style).expect("the template is valid"));
        let (phase, done) = (Arc::<Mutex<String>>::default(), Arc::new(AtomicBool::new(false)));
        let watcher = watch(db, bar.clone(), phase.clone(), done.clone());
        Bar { bar, started: Instant::now(), phase, done, watcher: Some(watcher), terminal }
    }

    fn set_phase(&self, text: String) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    /// Shows what a load does.
    pub fn event(&mut self, event: &LoadEvent<'_>) {
        match event {
            LoadEvent::Generated(table, done, total) => {
                if self.started.elapsed() > SILENT {
                    self.bar.set_message(format!("generating {table}"));
                    self.bar.set_length(*total);
                    self.bar.set_position(*done);
                }
            }
            LoadEvent::Writing(table) => {
                self.set_phase(format!("writing {table}"));
                if !self.terminal {
                    eprintln!("{:7.1} s  {table}", self.started.elapsed().as_secs_f64());
                }
            }
            LoadEvent::Analyzing => self.set_phase("analyzing".to_owned()),
        }
        if matches!(event, LoadEvent::Generated(..)) {
            self.set_phase(String::new());
        }
    }

    /// Removes the bar.
    pub fn finish(mut self) {
        self.done.store(true, Relaxed);
        if let Some(watcher) = self.watcher.take() {
            watcher.join().ok();
        }
        self.bar.finish_and_clear();
        eprintln!("{:7.1} s  done", self.started.elapsed().as_secs_f64());
    }
}

/// Shows how far work has come, of which `bytes` tells what is done and what there is, until it is over.
pub fn follow(what: &'static str, bytes: impl Fn() -> (u64, u64), over: &AtomicBool) {
    let started = Instant::now();
    let bar = ProgressBar::hidden();
    let style = "{msg:<28} {bar:40} {bytes}/{total_bytes} {elapsed}";
    bar.set_style(ProgressStyle::with_template(style).expect("the template is valid"));
    bar.set_message(what);
    while !over.load(Relaxed) {
        std::thread::sleep(TICK);
        if started.elapsed() > SILENT && std::io::stderr().is_terminal() {
            let (done, total) = bytes();
            bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
            bar.set_length(total);
            bar.set_position(done);
        }
    }
    bar.finish_and_clear();
}

/// Follows the database's job while a phase is named.
fn watch(
    db: Database,
    bar: ProgressBar,
    phase: Arc<Mutex<String>>,
    done: Arc<AtomicBool>,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        while !done.load(Relaxed) {
            let text = phase.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if !text.is_empty() {
                let job = db.job();
                bar.set_message(text);
                bar.set_length(job.total);
                bar.set_position(job.done.load(Relaxed));
            }
            std::thread::sleep(TICK);
        }
    })
}
