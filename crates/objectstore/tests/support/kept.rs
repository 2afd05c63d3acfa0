//! All objects of a server at one moment, for another one that goes on from there.

use std::rc::Rc;

use super::{Asked, Server, Stored};

/// All objects at one moment.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    tag_count: u64,
    /// Names, bytes, tags and writers.
    objects: Vec<(String, Vec<u8>, String, Option<String>)>,
}

/// Who is told of each request that may change something, before it is done and afterwards.
pub type Watch = Box<dyn FnMut(&str, Kept)>;

impl Server {
    /// All objects as they are now.
    pub fn keep(&self) -> Kept {
        let state = self.state.borrow();
        let one = |(key, object): (&String, &Stored)| {
            (key.clone(), object.bytes.to_vec(), object.tag.clone(), object.writer.clone())
        };
        Kept { tag_count: state.tag_count, objects: state.objects.iter().map(one).collect() }
    }

    /// Has these objects and no others.
    pub fn restore(&self, kept: Kept) {
        let one = |(key, bytes, tag, writer)| (key, Stored { bytes: Rc::new(bytes), tag, writer });
        let mut state = self.state.borrow_mut();
        state.tag_count = kept.tag_count;
        state.objects = kept.objects.into_iter().map(one).collect();
    }

    /// Tells who watches of a request that may change something.
    pub(super) fn tell(&self, asked: &Asked) {
        if let Some(watch) = self.watch.borrow_mut().as_mut()
            && !["GET", "HEAD"].contains(&asked.method.as_str())
        {
            watch(&format!("{} {}", asked.method, asked.path), self.keep());
        }
    }
}
