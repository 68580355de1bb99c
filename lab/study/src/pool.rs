// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs on several threads, with their results on the caller's.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The longest time between two calls of the caller's function.
const TICK: Duration = Duration::from_millis(50);

/// Does `jobs` in their order, on at most `threads` threads, and returns once all threads have ended.
///
/// `work` does a job; its second argument is set once the pool has been stopped, which a long job should look at. `watch` is
/// called on the caller's thread with each result, and with `None` where 50 ms pass without one; where it breaks, no more jobs
/// begin. It is called for the results of those that had begun. An error means that not even one thread could be started.
pub fn run<J: Sync, T: Send>(
    jobs: &[J],
    threads: usize,
    work: impl Fn(&J, &AtomicBool) -> T + Sync,
    mut watch: impl FnMut(Option<T>) -> ControlFlow<()>,
) -> io::Result<()> {
    let stop = AtomicBool::new(false);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for number in 0..threads.min(jobs.len()) {
            let sender = sender.clone();
            let (work, next, stop) = (&work, &next, &stop);
            let worker = move || {
                while !stop.load(Ordering::Relaxed) {
                    let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else {
                        return;
                    };
                    // The receiver lives as long as this scope.
                    let _ = sender.send(work(job, stop));
                }
            };
            match thread::Builder::new().spawn_scoped(scope, worker) {
                Ok(_) => {}
                Err(error) if number == 0 => return Err(error),
                // The threads that have started do all jobs.
                Err(_) => break,
            }
        }
        drop(sender);
        loop {
            let result = match receiver.recv_timeout(TICK) {
                Ok(result) => Some(result),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            if watch(result).is_break() {
                stop.store(true, Ordering::Relaxed);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once() {
        let jobs: Vec<u32> = (0..100).collect();
        for threads in [1, 3, 200] {
            let mut results = Vec::new();
            run(
                &jobs,
                threads,
                |job, _| job * 2,
                |result| {
                    results.extend(result);
                    ControlFlow::Continue(())
                },
            )
            .unwrap();
            results.sort_unstable();
            let expected: Vec<u32> = jobs.iter().map(|job| job * 2).collect();
            assert_eq!(results, expected);
        }
    }

    #[test]
    fn a_stopped_pool_begins_no_more_jobs() {
        let jobs = [(); 1000];
        let mut results = 0;
        // Each job but the first waits until the pool has been stopped.
        let begun = AtomicUsize::new(0);
        run(
            &jobs,
            2,
            |(), stop| {
                if begun.fetch_add(1, Ordering::Relaxed) > 0 {
                    while !stop.load(Ordering::Relaxed) {
                        thread::yield_now();
                    }
                }
            },
            |result| {
                results += usize::from(result.is_some());
                ControlFlow::Break(())
            },
        )
        .unwrap();
        let begun = begun.into_inner();
        assert!(begun <= 3, "{begun} jobs began");
        assert_eq!(results, begun);
    }
}
