// Instructions of a Hopper GPU for which CUDA C++ has no words, each as a function. All blocks of a cluster
// can read and write a block's shared memory, by its rank. (For a CPU: tests/support/hopper_on_a_cpu.hpp.)

#define SHARED_MEMORY(name) extern __shared__ float4 name[]

// Round to the 10 bits of a factor that products read; cvt.rna.tf32 is slow. The bits behind, which they
// ignore, are left as they are.
INLINE unsigned tf32(float x) { return __float_as_uint(x) + 0x1000; }

INLINE void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9},"
        " {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

INLINE unsigned address(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

INLINE unsigned address_in(const void *pointer, int rank) {
    unsigned mapped;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address(pointer)), "r"(rank));
    return mapped;
}

INLINE float read_from(const float *pointer, int rank) {
    float x;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(address_in(pointer, rank)) : "memory");
    return x;
}

INLINE float4 read4_from(const float *pointer, int rank) {
    float4 x;
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "r"(address_in(pointer, rank))
                 : "memory");
    return x;
}

INLINE void write_to(float *pointer, int rank, float x) {
    asm volatile("st.shared::cluster.f32 [%0], %1;" : : "r"(address_in(pointer, rank)), "f"(x) : "memory");
}

INLINE void make_barrier(unsigned long long *barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;"
                 :
                 : "r"(address(barrier))
                 : "memory");
}

// Write into another block, and tell its barrier
INLINE void send_to(float *pointer, unsigned long long *barrier, int rank, float x) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 :
                 : "r"(address_in(pointer, rank)), "r"(as_int(x)), "r"(address_in(barrier, rank))
                 : "memory");
}

INLINE void expect(unsigned long long *barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(address(barrier)), "r"(bytes)
                 : "memory");
}

INLINE void wait_for(unsigned long long *barrier, int phase) {
    asm volatile(
        "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}"
        :
        : "r"(address(barrier)), "r"(phase)
        : "memory");
}

INLINE void arrive() { asm volatile("barrier.cluster.arrive.release;" : : : "memory"); }
INLINE void wait() { asm volatile("barrier.cluster.wait.acquire;" : : : "memory"); }

INLINE void copy_later(int *to, const int *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(address(to)), "l"(from) : "memory");
}
INLINE void wait_for_copies() { asm volatile("cp.async.wait_all;" : : : "memory"); }

INLINE float approximate_root(float x) {
    float root;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}

INLINE float approximate_inverse(float x) {
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
}

// The same number, but the compiler does not know: it would keep what follows from it in registers for ever
INLINE int anew(int x) {
    asm volatile("" : "+r"(x));
    return x;
}
