//! Slots with generations: a stale key never reaches a later tenant of its slot.

/// Names one tenant of a slab: the slot in the low half, its generation in the high half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(u64);

impl Key {
    /// The key as a number, and back with [`Key::from_u64`].
    pub fn as_u64(self) -> u64 {
        self.0
    }

    /// The key of such a number; one that names no tenant simply finds nothing.
    pub fn from_u64(bits: u64) -> Key {
        Key(bits)
    }

    /// The slot, small and reused.
    pub fn slot(self) -> u32 {
        self.0 as u32
    }

    /// How many tenants the slot had before, modulo 2^32.
    pub fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The key of a slot and a generation.
    pub const fn new(slot: u32, generation: u32) -> Key {
        Key((generation as u64) << 32 | slot as u64)
    }
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    tenant: Option<T>,
}

/// A growing array of slots that are reused, last freed first.
#[derive(Debug)]
pub struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    len: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { slots: Vec::new(), free: Vec::new(), len: 0 }
    }
}

impl<T> Slab<T> {
    /// Stores a value and names it.
    pub fn insert(&mut self, value: T) -> Key {
        self.len += 1;
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            assert!(slot.tenant.is_none(), "a free slot has a tenant");
            slot.tenant = Some(value);
            return Key::new(index, slot.generation);
        }
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 slots");
        self.slots.push(Slot { generation: 0, tenant: Some(value) });
        Key::new(index, 0)
    }

    /// The tenant, if it is still there.
    #[inline]
    pub fn get(&self, key: Key) -> Option<&T> {
        let slot = self.slots.get(key.slot() as usize)?;
        if slot.generation == key.generation() { slot.tenant.as_ref() } else { None }
    }

    /// The tenant, if it is still there.
    #[inline]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let slot = self.slots.get_mut(key.slot() as usize)?;
        if slot.generation == key.generation() { slot.tenant.as_mut() } else { None }
    }

    /// Takes the tenant out; its key is stale from now on.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let slot = self.slots.get_mut(key.slot() as usize)?;
        if slot.generation != key.generation() {
            return None;
        }
        let value = slot.tenant.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(key.slot());
        self.len -= 1;
        Some(value)
    }

    /// How many tenants there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without tenants.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The key of any tenant.
    pub fn first_key(&self) -> Option<Key> {
        self.keys().next()
    }

    /// The keys of all tenants in slot order.
    pub fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        let with_index = self.slots.iter().enumerate();
        with_index
            .filter(|(_, slot)| slot.tenant.is_some())
            .map(|(index, slot)| Key::new(index as u32, slot.generation))
    }
}
