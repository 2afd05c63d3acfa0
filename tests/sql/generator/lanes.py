"""The processes of a run, each with a server and a schema of its own, and what they have counted together."""

import collections
import multiprocessing
import queue
import time

from .sides import Verdict

# How often a run says how far it is.
PROGRESS_S = 60
# Without a word of any lane for so long, one hangs: a window of queries at their limit, and cutting, take less.
SILENCE_S = 1200
# Kinds of verdicts that come of a comparison of rows.
COMPARED = {"same", "rows", "order", "types", "parameters"}


class Total:
    """What all lanes have counted."""

    def __init__(self, args):
        self.args, self.started, self.told = args, time.monotonic(), time.monotonic()
        self.counts, self.refused, self.slow, self.forms = collections.Counter(), collections.Counter(), [], set()
        self.broken = []

    def take(self, taken, findings):
        counts, refused, slow = taken
        self.counts.update(counts)
        self.refused.update(refused)
        self.slow += slow
        for text, form in findings:
            if form not in self.forms:
                self.forms.add(form)
                print(text, flush=True)
        if time.monotonic() - self.told > PROGRESS_S:
            self.told = time.monotonic()
            print(self.line(), flush=True)

    def different(self):
        return sum(count for kind, count in self.counts.items() if kind in Verdict.DEFECTS)

    def line(self):
        total, seconds = sum(self.counts.values()), time.monotonic() - self.started
        compared = sum(self.counts[kind] for kind in COMPARED)
        return (f"{total} queries run in {seconds:.0f} s ({total / seconds:.1f} a second): {compared} compared, "
                f"{self.counts['refused']} refused by name, {len(self.slow)} too slow, {self.different()} different")

    def summary(self):
        lines = [f"  {count} {kind}" for kind, count in self.counts.most_common()]
        lines += [f"  {count} {message}" for message, count in self.refused.most_common(40)]
        if self.slow:
            share = 100 * len(self.slow) / sum(self.counts.values())
            lines.append(f"NOT COMPARED, over {self.args.limit:g} s: {len(self.slow)} ({share:.2f} %)")
            lines += [f"  {where}: {self.numbers(where)}" for where in sorted({where for _, where in self.slow})]
        lines += self.broken
        return "\n".join(lines + [self.line()])

    def numbers(self, where):
        numbers = sorted(number for number, at in self.slow if at == where)
        return f"{len(numbers)}, queries {', '.join(map(str, numbers[:20]))}{', ..' if len(numbers) > 20 else ''}"

    def code(self):
        return 1 if self.different() or self.broken or not self.counts else 0


def run(args, lane, total):
    """Runs `lane` in processes until there are no more batches."""
    context = multiprocessing.get_context("fork")
    next_batch, events = context.Value("q", 0), context.Queue()
    count = min(args.lanes, -(-args.queries // args.batch))
    lanes = [context.Process(target=work, args=(args, lane, next_batch, events)) for _ in range(count)]
    for process in lanes:
        process.start()
    open_lanes = len(lanes)
    while open_lanes:
        try:
            event = events.get(timeout=SILENCE_S)
        except queue.Empty:
            total.broken.append(f"{open_lanes} lanes have said nothing for {SILENCE_S} s")
            break
        if event is None or isinstance(event, str):
            open_lanes -= 1
            total.broken += [event] if event else []
        else:
            total.take(*event)
    for process in lanes:
        process.join(30)
        process.kill()


def work(args, lane, next_batch, events):
    """A lane, and how it ended: with None, or what went wrong."""
    def batches():
        while True:
            with next_batch.get_lock():
                batch, next_batch.value = next_batch.value, next_batch.value + 1
            if batch * args.batch >= args.queries:
                return
            yield batch

    try:
        lane(args, batches(), lambda *event: events.put(event))
        events.put(None)
    except BaseException as wrong:
        events.put(f"a lane ended: {type(wrong).__name__}: {wrong}")
        raise
