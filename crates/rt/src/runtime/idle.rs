//! Contexts that have no job, each in its pool.
//!
//! Must not know what distinguishes pools. Invariant: the context that became idle last is taken first, because its stack
//! is hot.

/// The slots of idle contexts.
#[derive(Default)]
pub(super) struct Idle {
    pools: Vec<Vec<u32>>,
    count: usize,
}

impl Idle {
    pub fn len(&self) -> usize {
        self.count
    }

    /// The slots of all pools.
    pub fn all(&self) -> impl Iterator<Item = u32> {
        self.pools.iter().flatten().copied()
    }

    pub fn take(&mut self, pool: u32) -> Option<u32> {
        let taken = self.pools.get_mut(pool as usize)?.pop();
        self.count -= usize::from(taken.is_some());
        taken
    }

    pub fn keep(&mut self, pool: u32, index: u32) {
        let pool = pool as usize;
        if pool >= self.pools.len() {
            self.pools.resize_with(pool + 1, Vec::new);
        }
        self.pools[pool].push(index);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::Idle;

    #[test]
    fn a_context_stays_in_its_pool() {
        let mut idle = Idle::default();
        assert_eq!(idle.take(3), None);
        for (pool, index) in [(0, 1), (3, 2), (0, 4), (3, 5)] {
            idle.keep(pool, index);
        }
        assert_eq!(idle.all().collect::<Vec<_>>(), [1, 4, 2, 5]);
        assert_eq!((idle.len(), idle.take(3), idle.take(0), idle.take(1)), (4, Some(5), Some(4), None));
        assert_eq!((idle.take(3), idle.take(3), idle.take(0), idle.len()), (Some(2), None, Some(1), 0));
    }
}
