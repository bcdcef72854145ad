// What rounds.cu needs of CUDA and of heavytail/deep/hopper.cu, on a CPU. Each thread of a cluster is a
// coroutine, which goes on until it has to wait for others; whose turn it is then is drawn. Shared memory
// begins as NaN, and copies arrive as late as they may. Factors of products have all their bits.

#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include <setjmp.h>
#include <ucontext.h>

#define INLINE inline
#define __global__
#define __cluster_dims__(...)
#define __launch_bounds__(...)
#define SHARED_MEMORY(name) float4 *name = reinterpret_cast<float4 *>(self().block->memory.data())
#define blockIdx (Index{self().block->number})
#define threadIdx (Index{self().number})

using std::min;

struct Index { int x; };
struct float2 { float x, y; };
struct uint2 { unsigned x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

inline int as_int(float x) { int y; memcpy(&y, &x, 4); return y; }
inline float as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
inline unsigned __float_as_uint(float x) { return as_int(x); }

// Coroutines

struct Thread;
struct Block;
using Waiting = std::vector<Thread *>;

struct Barrier {
    int expected, arrived = 0, generation = 0;
    Waiting waiting;
};

struct Warp {
    Barrier barrier{32};
    unsigned given[2][32][6];  // of the operation under way, and of the next
};

struct Thread {
    Block *block;
    int number, in_cluster = 0;  // the generation of the cluster's barrier at which it arrived
    bool begun = false;
    ucontext_t context;  // to begin with; from then on jumps, which ask the kernel of the system for nothing
    jmp_buf place;
    std::unique_ptr<char[]> stack;
    std::vector<std::function<void()>> copies;  // under way
    Warp &warp() const;
};

struct Block {
    int number;
    std::vector<float4> memory;
    std::vector<Warp> warps;
    std::vector<Thread> threads;
    Barrier barrier;
};

inline Warp &Thread::warp() const { return block->warps[number / 32]; }

struct Transactions {  // a barrier that counts bytes
    int pending = 1, bytes = 0, phase = 0;
    Waiting waiting;
};

static constexpr int STACK_BYTES = 1 << 16;
static std::deque<Block> blocks;
static std::map<void *, Transactions> transactions;
static Barrier of_cluster;
static Waiting ready;
static Thread *running;
static jmp_buf scheduler;
static std::mt19937 draw;

inline Thread &self() { return *running; }

inline void sleep_in(Waiting &waiting) {
    Thread *me = running;
    waiting.push_back(me);
    if (_setjmp(me->place) == 0) _longjmp(scheduler, 1);
}

inline void wake(Waiting &waiting) {
    ready.insert(ready.end(), waiting.begin(), waiting.end());
    waiting.clear();
}

inline int arrive_at(Barrier &barrier) {
    const int generation = barrier.generation;
    if (++barrier.arrived == barrier.expected) {
        barrier.arrived = 0;
        ++barrier.generation;
        wake(barrier.waiting);
    }
    return generation;
}

inline void wait_after(Barrier &barrier, int generation) {
    while (barrier.generation == generation) sleep_in(barrier.waiting);
}

inline void synchronise(Barrier &barrier) { wait_after(barrier, arrive_at(barrier)); }

// Blocks and clusters

inline void __syncthreads() { synchronise(self().block->barrier); }
inline void __syncwarp() { synchronise(self().warp().barrier); }
inline void arrive() { self().in_cluster = arrive_at(of_cluster); }
inline void wait() { wait_after(of_cluster, self().in_cluster); }

template <class T> T *in_block(T *pointer, int rank) {
    const char *mine = reinterpret_cast<const char *>(self().block->memory.data());
    char *other = reinterpret_cast<char *>(blocks[rank].memory.data());
    return reinterpret_cast<T *>(other + (reinterpret_cast<const char *>(pointer) - mine));
}

inline float read_from(float *pointer, int rank) { return *in_block(pointer, rank); }
inline float4 read4_from(float *pointer, int rank) {
    return *reinterpret_cast<float4 *>(in_block(pointer, rank));
}
inline void write_to(float *pointer, int rank, float x) { *in_block(pointer, rank) = x; }

inline void make_barrier(unsigned long long *barrier) { transactions[barrier] = {}; }

inline void account(void *barrier, int arrived, int bytes) {
    Transactions &found = transactions.at(barrier);
    found.pending -= arrived, found.bytes += bytes;
    if (found.pending == 0 && found.bytes == 0) {
        found.pending = 1, found.phase ^= 1;
        wake(found.waiting);
    }
}

inline void send_to(float *pointer, unsigned long long *barrier, int rank, float x) {
    write_to(pointer, rank, x);
    account(in_block(barrier, rank), 0, -4);
}
inline void expect(unsigned long long *barrier, int bytes) { account(barrier, 1, bytes); }
inline void wait_for(unsigned long long *barrier, int phase) {
    Transactions &found = transactions.at(barrier);
    while (found.phase == phase) sleep_in(found.waiting);
}

inline void copy_later(int *to, const int *from) {
    if (draw() % 2) self().copies.push_back([to, from] { *to = *from; });
    else self().copies.push_back([to, x = *from] { *to = x; });
}
inline void wait_for_copies() {
    for (auto &copy : self().copies) copy();
    self().copies.clear();
}

inline int atomicAdd(int *to, int x) { return (*to += x) - x; }

// Warps

// Give words to the others of the warp; what lane i gave is at [i] of what this returns
template <int n> const unsigned (*exchange(const unsigned (&words)[n]))[6] {
    Warp &warp = self().warp();
    auto &given = warp.given[warp.barrier.generation % 2];
    memcpy(given[self().number % 32], words, sizeof words);
    synchronise(warp.barrier);
    return given;
}

template <class T> T __shfl_sync(unsigned, T x, int lane) {
    unsigned words[1];
    memcpy(words, &x, 4);
    memcpy(&x, exchange(words)[lane], 4);
    return x;
}
template <class T> T __shfl_xor_sync(unsigned, T x, int i) {
    return __shfl_sync(~0u, x, self().number % 32 ^ i);
}

inline unsigned tf32(float x) { return as_int(x); }

// m16n8k8: lane 4 g + m gives rows g and g + 8, and columns m and m + 4, of the first factor
inline void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    const int group = self().number % 32 / 4, member = self().number % 4;
    const unsigned words[6] = {a[0], a[1], a[2], a[3], b0, b1};
    const auto given = exchange(words);
    for (int i = 0; i < 4; ++i) {
        const int up = i / 2, column = 2 * member + i % 2;
        for (int k = 0; k < 8; ++k) {
            const float x = as_float(given[4 * group + k % 4][up + 2 * (k / 4)]);
            c[i] += x * as_float(given[4 * column + k % 4][4 + k / 4]);
        }
    }
}

inline float approximate_root(float x) { return sqrtf(x); }
inline float approximate_inverse(float x) { return 1.0f / x; }
inline int anew(int x) { return x; }

// A cluster runs until all its threads have ended; false if they wait for each other for ever
template <class Kernel>
bool run_cluster(int first, int n_blocks, int n_threads, int bytes, unsigned seed, const Kernel &kernel) {
    static const Kernel *called;
    static int left;
    called = &kernel, left = n_blocks * n_threads;
    blocks.clear(), transactions.clear(), ready.clear(), draw.seed(seed);
    of_cluster = {left};
    for (int b = 0; b < n_blocks; ++b) {
        blocks.push_back({first + b, {}, {}, {}, {n_threads}});
        Block &block = blocks.back();
        block.memory.assign(bytes / 16, {NAN, NAN, NAN, NAN});
        block.warps.resize(n_threads / 32);
        block.threads.resize(n_threads);
        for (int t = 0; t < n_threads; ++t) {
            Thread &thread = block.threads[t];
            thread.block = &block, thread.number = t;
            thread.stack.reset(new char[STACK_BYTES]);
            getcontext(&thread.context);
            thread.context.uc_stack.ss_sp = thread.stack.get();
            thread.context.uc_stack.ss_size = STACK_BYTES;
            makecontext(&thread.context, +[] { (*called)(), --left, _longjmp(scheduler, 1); }, 0);
            ready.push_back(&thread);
        }
    }
    while (!ready.empty()) {
        std::swap(ready[draw() % ready.size()], ready.back());
        running = ready.back();
        ready.pop_back();
        if (_setjmp(scheduler) != 0) continue;
        if (running->begun) _longjmp(running->place, 1);
        running->begun = true;
        setcontext(&running->context);
    }
    return left == 0;
}
