//! The semaphores and mutexes of the sync unit, with the times of their changes.
//!
//! A thread's instructions are not executed in the order of time of all threads, so each change keeps
//! its cycle: a wait ends at the cycle of the change that ended it.

/// Number of semaphores that the threads share.
pub(super) const SEMAPHORE_COUNT: usize = 8;
/// Number of mutexes; a Blackhole uses fewer.
const MUTEX_COUNT: usize = 8;
/// Greatest value of a semaphore.
const SEMAPHORE_MAX: u32 = 15;
/// Number of changes whose cycles are kept.
const KEPT_CHANGES: usize = 16;

/// A counter that saturates at 0 and at its maximum.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Semaphore {
    /// The value at which `SEMWAIT` finds the semaphore full.
    max: u32,
    posts: Changes,
    gets: Changes,
}

/// Cycles of the most recent changes of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    count: u32,
    cycles: [u64; KEPT_CHANGES],
}

impl Changes {
    fn add(&mut self, cycle: u64) {
        self.cycles[self.count as usize % KEPT_CHANGES] = cycle;
        self.count += 1;
    }

    /// Returns the cycle of a change by its number, which must be one of the last ones.
    const fn cycle(&self, number: u32) -> u64 {
        self.cycles[number as usize % KEPT_CHANGES]
    }
}

impl Semaphore {
    pub(super) const fn value(&self) -> u32 {
        self.posts.count - self.gets.count
    }

    pub(super) fn initialise(&mut self, value: u32, max: u32, cycle: u64) {
        let posts = Changes { count: value, cycles: [cycle; KEPT_CHANGES] };
        *self = Self { max, posts, gets: Changes::default() };
    }

    pub(super) fn post(&mut self, cycle: u64) {
        if self.value() < SEMAPHORE_MAX {
            self.posts.add(cycle);
        }
    }

    pub(super) fn get(&mut self, cycle: u64) {
        if self.value() > 0 {
            self.gets.add(cycle);
        }
    }

    /// Returns the cycle since which the semaphore has not been empty; `None` if it is empty.
    fn filled_at(&self) -> Option<u64> {
        (self.value() > 0).then(|| self.posts.cycle(self.gets.count))
    }

    /// Returns the cycle since which the semaphore has not been full; `None` if it is full.
    fn room_at(&self) -> Option<u64> {
        if self.value() >= self.max {
            return None;
        }
        Some(self.posts.count.checked_sub(self.max).map_or(0, |number| self.gets.cycle(number)))
    }
}

/// A wait for semaphores.
#[derive(Clone, Copy, Debug)]
pub(super) struct SemaphoreWait {
    /// The semaphores, as bits.
    pub(super) semaphores: u32,
    pub(super) while_empty: bool,
    pub(super) while_full: bool,
}

impl SemaphoreWait {
    /// Returns the cycle at which the wait ends; `None` if that is not known yet.
    pub(super) fn ends_at(&self, semaphores: &[Semaphore; SEMAPHORE_COUNT]) -> Option<u64> {
        let meant = semaphores.iter().enumerate();
        let meant = meant.filter(|&(index, _)| self.semaphores >> index & 1 != 0);
        let mut end = 0;
        for (_, semaphore) in meant {
            if self.while_empty {
                end = end.max(semaphore.filled_at()?);
            }
            if self.while_full {
                end = end.max(semaphore.room_at()?);
            }
        }
        Some(end)
    }
}

/// The mutexes that threads take and release.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mutexes([Mutex; MUTEX_COUNT]);

#[derive(Clone, Copy, Debug, Default)]
struct Mutex {
    holder: Option<usize>,
    free_since: u64,
}

impl Mutexes {
    /// Returns the cycle from which a thread can take a mutex; `None` as long as another thread
    /// holds it.
    pub(super) fn free_at(&self, index: u32, thread: usize) -> Option<u64> {
        let mutex = &self.0[index as usize % MUTEX_COUNT];
        mutex.holder.is_none_or(|holder| holder == thread).then_some(mutex.free_since)
    }

    pub(super) const fn take(&mut self, index: u32, thread: usize) {
        self.0[index as usize % MUTEX_COUNT].holder = Some(thread);
    }

    pub(super) fn release(&mut self, index: u32, thread: usize, cycle: u64) {
        let mutex = &mut self.0[index as usize % MUTEX_COUNT];
        if mutex.holder == Some(thread) {
            *mutex = Mutex { holder: None, free_since: cycle };
        }
    }
}
