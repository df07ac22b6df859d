//! Threads for work that must not hold up connections: a bounded queue, and as many threads as
//! take from it. Each thread has a state of its own, so that warm instances need no lock.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

type Task<S> = Box<dyn FnOnce(&mut S) + Send>;

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoResult {
    /// The queue is full, or the pool is closed.
    Full,
    /// The work fell over.
    Panicked,
}

/// Threads that take work from one queue. Dropping it finishes what is queued.
pub struct Pool<S> {
    shared: Arc<Shared<S>>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared<S> {
    queue: Mutex<Queue<S>>,
    wake: Condvar,
    capacity: usize,
}

struct Queue<S> {
    tasks: VecDeque<Task<S>>,
    idle: usize,
    closed: bool,
}

impl<S> Shared<S> {
    fn lock(&self) -> MutexGuard<'_, Queue<S>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Task<S>> {
        let mut queue = self.lock();
        loop {
            if let Some(task) = queue.tasks.pop_front() {
                return Some(task);
            }
            if queue.closed {
                return None;
            }
            queue.idle += 1;
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}

impl<S: 'static> Pool<S> {
    /// Starts threads with so much stack; `make` gives each its state.
    pub fn start(
        name: &str,
        threads: usize,
        stack: usize,
        capacity: usize,
        make: fn() -> S,
    ) -> std::io::Result<Pool<S>> {
        let queue = Mutex::new(Queue { tasks: VecDeque::new(), idle: 0, closed: false });
        let shared = Arc::new(Shared { queue, wake: Condvar::new(), capacity });
        let mut pool = Pool { shared, threads: Vec::new() };
        for _ in 0..threads.max(1) {
            let shared = pool.shared.clone();
            let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(stack).spawn(move || {
                let mut state = make();
                while let Some(task) = shared.next() {
                    // What fell over may have left the state in any condition.
                    if catch_unwind(AssertUnwindSafe(|| task(&mut state))).is_err() {
                        state = make();
                    }
                }
            })?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Does something in one of the threads. What nobody waits for any more is not begun.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce(&mut S) -> T + Send + 'static) -> Result<T, NoResult> {
        let (send, receive) = oneshot::channel();
        self.submit(move |state| {
            if !send.is_closed() {
                let _ = send.send(work(state));
            }
        })?;
        receive.await.map_err(|_| NoResult::Panicked)
    }

    /// The same without waiting for it.
    pub fn submit(&self, work: impl FnOnce(&mut S) + Send + 'static) -> Result<(), NoResult> {
        let mut queue = self.shared.lock();
        if queue.closed || queue.tasks.len() >= self.shared.capacity {
            return Err(NoResult::Full);
        }
        queue.tasks.push_back(Box::new(work));
        let sleeps = queue.idle > 0;
        drop(queue);
        if sleeps {
            self.shared.wake.notify_one();
        }
        Ok(())
    }

    /// How much waits.
    pub fn queued(&self) -> usize {
        self.shared.lock().tasks.len()
    }
}

impl<S> Drop for Pool<S> {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn wait<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn work_is_done_elsewhere_and_a_panic_takes_only_itself() {
        let pool = Pool::start("test", 1, 1 << 20, 8, || 0u32).unwrap();
        let here = std::thread::current().id();
        assert!(wait(pool.run(move |_| std::thread::current().id() != here)).unwrap());
        let panicked = wait(pool.run(|count| {
            *count += 1;
            panic!("it fell over");
        }));
        assert_eq!(panicked, Err::<(), _>(NoResult::Panicked));
        assert_eq!(wait(pool.run(|count| *count)), Ok(0), "the state is made anew");
    }

    #[test]
    fn no_more_waits_than_may_and_all_that_waits_is_done() {
        let pool = Pool::start("test", 1, 1 << 20, 2, || ()).unwrap();
        let ((go, gate), (send, done)) = (channel::<()>(), channel());
        let (started, begun) = channel();
        pool.submit(move |()| {
            started.send(()).unwrap();
            gate.recv().unwrap();
        })
        .unwrap();
        begun.recv().unwrap();
        for _ in 0..2 {
            let send = send.clone();
            pool.submit(move |()| send.send(()).unwrap()).unwrap();
        }
        assert_eq!((pool.submit(|()| ()), pool.queued()), (Err(NoResult::Full), 2));
        go.send(()).unwrap();
        drop(pool);
        assert_eq!(done.try_iter().count(), 2);
    }
}
