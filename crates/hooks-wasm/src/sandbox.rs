//! The walls around an instance: work, memory, time, and how much it may hand out.
//!
//! Nothing that the world outside could be reached by is ever linked.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use wasmtime::component::Component;
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, OptLevel, PoolConcurrencyLimitError,
    PoolingAllocationConfig, ResourceLimiter, Store, Trap, UpdateDeadline,
};

use mcpproxy_core::security::HookFault;

use crate::{Error, WasmConfig};

/// Pages of WebAssembly memory; bounds are whole pages.
const PAGE: u64 = 1 << 16;
/// Most entries of a table; a hook of a megabyte has some hundreds.
const TABLE_LIMIT: usize = 20_000;
/// What of an instance's memory is wiped in place rather than given back to the system.
const KEPT: usize = 1 << 19;

/// Runs components within bounds.
#[derive(Clone)]
pub(crate) struct Sandbox {
    engine: Engine,
    memory: usize,
    fuel: u64,
    answer: usize,
    /// One permit for each instance of the pool, held until the instance is back.
    permits: Arc<Semaphore>,
}

/// What one instance may have. It is what a component's store holds; no function of ours sees it.
pub(crate) struct Room {
    memory: usize,
}

impl Sandbox {
    pub(crate) fn new(config: &WasmConfig) -> Result<Self, Error> {
        let wrong = |why: String| Error::Sandbox(why);
        let memory = config.max_memory.bytes().next_multiple_of(PAGE);
        let mut engine = Config::new();
        engine
            .consume_fuel(true)
            .epoch_interruption(true)
            .cranelift_opt_level(OptLevel::Speed)
            // The same question has the same answer on every machine.
            .cranelift_nan_canonicalization(true)
            .relaxed_simd_deterministic(true)
            // Room for the memory and no more, so that the pool takes little address space.
            .memory_reservation(memory)
            .memory_guard_size(PAGE)
            .memory_may_move(false);
        let memory = usize::try_from(memory).map_err(|why| wrong(why.to_string()))?;
        engine.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(
            config.max_instances,
            memory,
        )));
        let permits =
            usize::try_from(config.max_instances).map_err(|why| wrong(why.to_string()))?;
        Ok(Self {
            engine: Engine::new(&engine).map_err(|why| wrong(text(&why)))?,
            memory,
            fuel: config.max_fuel,
            answer: config.max_answer_size.as_usize(),
            permits: Arc::new(Semaphore::new(permits)),
        })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn compile(&self, binary: &[u8]) -> Result<Component, wasmtime::Error> {
        Component::from_binary(&self.engine, binary)
    }

    /// Makes room for an instance that nobody stops before its fuel is used up.
    pub(crate) fn room(&self) -> Result<Store<Room>, wasmtime::Error> {
        self.room_until(Arc::default())
    }

    /// Does `work` with a new instance on a thread that may block, for as long as `limit` says.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(Store<Room>) -> Result<T, HookFault> + Send + 'static,
    ) -> Result<T, HookFault> {
        let permits = Arc::clone(&self.permits).acquire_owned();
        let begun = tokio::time::Instant::now();
        let Ok(Ok(permit)) = tokio::time::timeout(limit, permits).await else {
            return Err(HookFault::Busy);
        };
        let leash = Leash::new(&self.engine);
        let (sandbox, stopped) = (self.clone(), Arc::clone(&leash.stopped));
        let answer = tokio::task::spawn_blocking(move || {
            let room = sandbox.room_until(stopped);
            let answer = room.map_err(|why| fault(&why)).and_then(work);
            drop(permit);
            answer
        });
        match tokio::time::timeout(limit.saturating_sub(begun.elapsed()), answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => Err(HookFault::Crashed(why.to_string())),
            Err(_) => Err(HookFault::Late),
        }
    }

    fn room_until(&self, stopped: Arc<AtomicBool>) -> Result<Store<Room>, wasmtime::Error> {
        let room = Room {
            memory: self.memory,
        };
        let mut store = Store::new(&self.engine, room);
        store.limiter(|room| room);
        store.set_fuel(self.fuel)?;
        store.set_hostcall_fuel(self.answer);
        store.set_epoch_deadline(1);
        // After the deadline is set: whoever stops this later also moves the epoch past it.
        if stopped.load(Ordering::SeqCst) {
            return Err(Trap::Interrupt.into());
        }
        store.epoch_deadline_callback(move |_| {
            Ok(if stopped.load(Ordering::SeqCst) {
                UpdateDeadline::Interrupt
            } else {
                UpdateDeadline::Continue(1)
            })
        });
        Ok(store)
    }
}

/// Stops an instance as soon as nobody waits for its answer any more, for whatever reason.
struct Leash {
    stopped: Arc<AtomicBool>,
    engine: Engine,
}

impl Leash {
    fn new(engine: &Engine) -> Self {
        Self {
            stopped: Arc::default(),
            engine: engine.clone(),
        }
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Every running instance looks up; the others go on.
        self.engine.increment_epoch();
    }
}

/// The instance wanted more than it may have.
#[derive(Debug)]
struct OutOfRoom(&'static str);

impl fmt::Display for OutOfRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it wanted more {} than it may have", self.0)
    }
}

impl std::error::Error for OutOfRoom {}

/// Ends an instance that wants too much at once: one that is told no may try for ever.
impl ResourceLimiter for Room {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired > self.memory {
            return Err(wasmtime::Error::new(OutOfRoom("memory")));
        }
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired > TABLE_LIMIT {
            return Err(wasmtime::Error::new(OutOfRoom("table entries")));
        }
        Ok(true)
    }
}

fn pool(instances: u32, memory: usize) -> PoolingAllocationConfig {
    // What a linker makes of one module: the module, and small ones that tie it to its memory.
    const MODULES: u32 = 4;
    const TABLES: u32 = 2;
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(instances)
        .total_core_instances(instances.saturating_mul(MODULES))
        .total_memories(instances)
        .total_tables(instances.saturating_mul(TABLES))
        .max_core_instances_per_component(MODULES)
        .max_memories_per_component(1)
        .max_tables_per_component(TABLES)
        .max_memory_size(memory)
        .table_elements(TABLE_LIMIT)
        .linear_memory_keep_resident(KEPT);
    pool
}

/// Says why a component did not answer.
pub(crate) fn fault(why: &wasmtime::Error) -> HookFault {
    if let Some(trap) = why.downcast_ref::<Trap>() {
        return match trap {
            Trap::Interrupt => HookFault::Late,
            Trap::OutOfFuel => HookFault::Crashed("it used up its fuel".to_owned()),
            trap => HookFault::Crashed(trap.to_string()),
        };
    }
    if let Some(why) = why.downcast_ref::<OutOfRoom>() {
        return HookFault::Crashed(why.to_string());
    }
    if why.is::<PoolConcurrencyLimitError>() {
        return HookFault::Busy;
    }
    let why = text(why);
    // The library has no name for this one that others could use.
    if why.contains("fuel allocated for hostcalls") {
        return HookFault::TooLarge;
    }
    HookFault::Garbage(why)
}

/// Returns what went wrong in one line, the cause last.
pub(crate) fn text(why: &wasmtime::Error) -> String {
    let causes = why.chain().map(ToString::to_string);
    let text = causes.collect::<Vec<_>>().join(": ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox")
            .field("memory", &self.memory)
            .field("fuel", &self.fuel)
            .field("answer", &self.answer)
            .finish_non_exhaustive()
    }
}
