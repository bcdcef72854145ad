// Rounds of DQN. A cluster of 16 multiprocessors advances one run: all that it computes with, but for its
// replay memory and visit counts, stays on the chip. heavytail/deep/fused_rounds.py puts the sizes, the
// functions step, code, keep and rates, and the instructions of hopper.cu before this text.
//
// A block has a slice of the large layer: all inputs and N of the outputs; weights are in shared memory,
// their Adam moments in registers. The first layer is small, and in every block; of the last one a block has
// the rows of its slice. Blocks exchange parts of sums: of values, and of the first layer's gradient. All
// blocks of a cluster play the same steps; the first one stores them.
//
// Products are m16n8k8 in tf32: of a thread in a warp, `group` and `member` are the row and column of what it
// gives to a product and gets from it. Columns are taken in another order, so that a thread reads neighbours
// at once.

constexpr int H = 512, BATCH = 64, RANKS = 16, N = H / RANKS, WARPS = 16, THREADS = 32 * WARPS;
constexpr int FIRST = D + 1;         // rows of the first layer: weights of each input, and biases
constexpr int ROW = WORDS + 1;       // of a transition in shared memory; odd, so that rows lie in other banks
constexpr int DRAWN = STEPS * RANDOM + BATCH;  // words of a round
enum { ONLINE, TARGET };

struct Rates {
    float step, square;  // the learning rate and what undoes the bias of the mean; that of the square
};

struct Network {
    float *w1, *b1, *w2, *b2, *w3, *b3;
};

struct Arrays {
    const int *clock;                        // steps so far, and rounds to make
    const int *fixed, *drawn;                // [run, FIXED], [round, run, DRAWN]
    int *state, *updates, *replay, *visits;  // [run, STATE], [run], [run, REPLAY, WORDS], [run, VISITS]
    Network network, target, mean, square;
};

struct Moments {
    float mean[4][4], square[4][4];  // of 16 rows of the slice, as products give them to a warp
};

struct Here {  // which thread of all
    int run, rank, thread, warp, lane;
};

struct Shared {
    float w2[2][H * N];             // of network and target, each at place(row, column)
    float slopes2[BATCH * N];       // derivatives by what comes out of the large layer
    union {
        float sums[2][2][BATCH * N];                  // parts of its products
        float inbox[RANKS][2 * A * BATCH + 8];        // parts of values, from all blocks
        struct {
            float by_last[BATCH * N];                 // activations times derivatives by values
            float small[WARPS][N][A + 1];             // parts of gradients of biases and of the last layer
            float first[FIRST * H];                   // this block's part of the first layer's gradient
        } gradient;
        struct {
            float hidden[H], sums[WARPS][N];
        } acting;
    };
    float first[2][FIRST][H], target_first[FIRST][H];  // two of the network's: the present and the next
    float b2[2][N], w3[2][N][A], b3[2][A];
    float first_mean[FIRST * N], first_square[FIRST * N];
    float small_mean[N][A + 1], small_square[N][A + 1], b3_mean[A], b3_square[A];
    alignas(16) float parts[BATCH][2 * A];  // of the values of network and target
    float acting_parts[2][RANKS][A];
    unsigned long long arrived[2];  // barriers for them
    float slope[BATCH], kept[STEPS];
    Rates rates;
    int rows[BATCH][ROW], is_new[BATCH], fresh[STEPS][WORDS], drawn[2][DRAWN], state[STATE], fixed[FIXED];
};
static_assert(sizeof(Shared) <= 232448, "too large for a multiprocessor");
static_assert(WARPS == RANKS, "a warp for each block");
static_assert(D < 8, "more observations than a product has columns");
static_assert(STEPS <= 32, "more steps than a warp has threads");

INLINE float sum_of_warp(float x) {
    for (int i = 16; i; i /= 2) x += __shfl_xor_sync(~0u, x, i);
    return x;
}

INLINE float4 operator+(float4 x, float4 y) {
    return make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

INLINE float4 shuffled(float4 x, int i) {
    return make_float4(__shfl_xor_sync(~0u, x.x, i), __shfl_xor_sync(~0u, x.y, i),
                       __shfl_xor_sync(~0u, x.z, i), __shfl_xor_sync(~0u, x.w, i));
}

// Where a number of a matrix of N columns lies: so that the reads and writes of a warp fall into all banks
INLINE int place(int row, int column) { return row * N + (column ^ ((row & 1) << 4 | (row & 2) << 2)); }

INLINE float adam(float w, float gradient, float &mean, float &square, Rates rates) {
    mean = MEAN_DECAY * mean + MEAN_GAIN * gradient;
    square = SQUARE_DECAY * square + SQUARE_GAIN * gradient * gradient;
    const float root = approximate_root(square * rates.square);
    const float inverse = approximate_inverse(root + ADAM_EPSILON);
    return w - rates.step * mean * inverse;
}

// What a block has of a run, number by number

template <class Visit> INLINE void each_weight(Here here, Visit visit) {
    const int lane = anew(here.thread % 32), group = lane / 4, member = lane % 4;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int c = 0; c < 4; ++c)
                visit(32 * here.warp + 16 * i + 8 * (c / 2) + group,
                      16 * (j / 2) + 4 * member + 2 * (c % 2) + j % 2, i, j, c);
}

template <class Visit> INLINE void each_first(Here here, Network &net, Visit visit) {
    for (int i = here.thread; i < FIRST * H; i += THREADS) {
        const int d = i / H, h = i % H;
        visit(d < D ? net.w1[((size_t)here.run * D + d) * H + h] : net.b1[(size_t)here.run * H + h], d, h);
    }
}

template <class First, class Small, class Last>
INLINE void each_small(Here here, Network &net, First visit_first, Small visit_small, Last visit_last) {
    for (int i = here.thread; i < FIRST * N; i += THREADS) {
        const int d = i / N, h = here.rank * N + i % N;
        visit_first(d < D ? net.w1[((size_t)here.run * D + d) * H + h] : net.b1[(size_t)here.run * H + h], i);
    }
    for (int i = here.thread; i < N * (A + 1); i += THREADS) {
        const int n = i / (A + 1), a = i % (A + 1), h = here.rank * N + n;
        const size_t at = (size_t)here.run * H + h;
        visit_small(a < A ? net.w3[at * A + a] : net.b2[at], n, a);
    }
    for (int a = here.thread; a < A; a += THREADS) visit_last(net.b3[here.run * A + a], a);
}

INLINE size_t in_large(Here here, int h, int n) {
    return ((size_t)here.run * H + h) * H + here.rank * N + n;
}

// Take a run from memory
INLINE void take_run(Shared &sh, Here here, Arrays &arrays, Moments (&moments)[2]) {
    const size_t run = here.run;
    each_weight(here, [&](int h, int n, int i, int j, int c) {
        sh.w2[ONLINE][place(h, n)] = arrays.network.w2[in_large(here, h, n)];
        moments[i].mean[j][c] = arrays.mean.w2[in_large(here, h, n)];
        moments[i].square[j][c] = arrays.square.w2[in_large(here, h, n)];
    });
    each_first(here, arrays.network, [&](float &x, int d, int h) { sh.first[0][d][h] = x; });
    auto nothing = [](float &, int) {};
    each_small(
        here, arrays.network, nothing,
        [&](float &x, int n, int a) { (a < A ? sh.w3[ONLINE][n][a] : sh.b2[ONLINE][n]) = x; },
        [&](float &x, int a) { sh.b3[ONLINE][a] = x; });
    each_small(
        here, arrays.mean, [&](float &x, int i) { sh.first_mean[i] = x; },
        [&](float &x, int n, int a) { sh.small_mean[n][a] = x; },
        [&](float &x, int a) { sh.b3_mean[a] = x; });
    each_small(
        here, arrays.square, [&](float &x, int i) { sh.first_square[i] = x; },
        [&](float &x, int n, int a) { sh.small_square[n][a] = x; },
        [&](float &x, int a) { sh.b3_square[a] = x; });
    for (int i = here.thread; i < STATE; i += THREADS) sh.state[i] = arrays.state[run * STATE + i];
    for (int i = here.thread; i < FIXED; i += THREADS) sh.fixed[i] = arrays.fixed[run * FIXED + i];
}

// Fetch what is drawn for a round
INLINE void fetch_drawn(Shared &sh, Here here, const Arrays &arrays, int n_runs, int round) {
    const int *from = arrays.drawn + ((size_t)round * n_runs + here.run) * DRAWN;
    for (int i = here.thread; i < DRAWN; i += THREADS) copy_later(&sh.drawn[round % 2][i], from + i);
}

// Begin a period: the network is the target
INLINE void set_target(Shared &sh, Here here, int now) {
    const int thread = here.thread;
    each_weight(here, [&](int h, int n, int, int, int) {
        sh.w2[TARGET][place(h, n)] = sh.w2[ONLINE][place(h, n)];
    });
    for (int i = thread; i < FIRST * H; i += THREADS)
        sh.target_first[i / H][i % H] = sh.first[now][i / H][i % H];
    for (int i = thread; i < N * A; i += THREADS)
        sh.w3[TARGET][i / A][i % A] = sh.w3[ONLINE][i / A][i % A];
    if (thread < N) sh.b2[TARGET][thread] = sh.b2[ONLINE][thread];
    if (thread < A) sh.b3[TARGET][thread] = sh.b3[ONLINE][thread];
}

// Fetch the batch
INLINE void fetch_batch(Shared &sh, Here here, const int *replay, const int *drawn, int stored) {
    const int thread = here.thread;
    for (int i = thread; i < BATCH * WORDS; i += THREADS) {
        const unsigned index = (unsigned)drawn[STEPS * RANDOM + i / WORDS] % (unsigned)stored;
        copy_later(&sh.rows[i / WORDS][i % WORDS], replay + (size_t)index * WORDS + i % WORDS);
    }
}

// Make step j of a round
INLINE void act(Shared &sh, Here here, const int *visits, const int *drawn, int t, int round, int j,
                int updates, int now, int &code_of_step, int &seen) {
    const int rank = here.rank, thread = here.thread, warp = here.warp;
    const int lane = anew(thread % 32), turn = (round * STEPS + j) % 2;
    int x[D];
    float sum = sh.first[now][D][thread];
#pragma unroll
    for (int d = 0; d < D; ++d) {
        x[d] = sh.state[OBSERVATION + d];
        sum += as_float(x[d]) * sh.first[now][d][thread];
    }
    sh.acting.hidden[thread] = fmaxf(sum, 0.0f);
    __syncwarp();  // a warp reads what it has written
    float4 sums = {};  // of four columns, over every fourth of the warp's rows
    const float *w2 = sh.w2[ONLINE] + place(32 * warp + lane / 8, 4 * (lane % 8));
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const float h = sh.acting.hidden[32 * warp + lane / 8 + 4 * i];
        const float4 w = reinterpret_cast<const float4 &>(w2[4 * i * N]);
        sums.x += h * w.x, sums.y += h * w.y, sums.z += h * w.z, sums.w += h * w.w;
    }
    sums = sums + shuffled(sums, 8);
    sums = sums + shuffled(sums, 16);
    if (lane < 8) reinterpret_cast<float4 &>(sh.acting.sums[warp][4 * lane]) = sums;
    __syncthreads();
    if (warp == 0) {
        sum = sh.b2[ONLINE][lane];
#pragma unroll
        for (int k = 0; k < WARPS; ++k) sum += sh.acting.sums[k][lane];
#pragma unroll
        for (int a = 0; a < A; ++a) {
            const float part = sum_of_warp(fmaxf(sum, 0.0f) * sh.w3[ONLINE][lane][a]);
            if (lane < RANKS) send_to(&sh.acting_parts[turn][rank][a], &sh.arrived[turn], lane, part);
        }
    }
    if (j == 0 && thread == THREADS - 1) {
        const int at[2] = {t + STEPS, updates + round + 1};
        rates(sh.fixed, at, reinterpret_cast<int *>(&sh.rates));
    }
    if (rank == 0 && thread == 32 + j) code(sh.fixed, x, &code_of_step);
    if (warp == 0) {
        if (lane == 0) expect(&sh.arrived[turn], RANKS * A * 4);
        wait_for(&sh.arrived[turn], (round * STEPS + j) / 2 % 2);
        int values[1 + A];
        values[0] = t + j;
#pragma unroll
        for (int a = 0; a < A; ++a) {
            const float part = lane < RANKS ? sh.acting_parts[turn][lane][a] : 0.0f;
            values[1 + a] = as_int(sum_of_warp(part) + sh.b3[ONLINE][a]);
        }
        if (lane == 0) step(sh.fixed, sh.state, drawn + j * RANDOM, values, sh.state, sh.fresh[j]);
    }
    __syncthreads();
    if (rank == 0 && thread == 32 + j) {
        sh.fresh[j][WORDS - 1] = code_of_step;
        seen = visits[code_of_step * A + sh.fresh[j][WORDS - 2]];
    }
}

// Put the steps of this round where they are in the batch
INLINE void insert_steps(Shared &sh, Here here, int t, const int *drawn, int stored) {
    const int thread = here.thread;
    wait_for_copies();
    __syncthreads();
    if (thread < BATCH) {
        const unsigned index = (unsigned)drawn[STEPS * RANDOM + thread] % (unsigned)stored;
        sh.is_new[thread] = -1;
        for (int j = 0; j < STEPS; ++j)
            if (index == (t + j) % REPLAY) {
                sh.is_new[thread] = j;
                for (int i = 0; i < WORDS; ++i) sh.rows[thread][i] = sh.fresh[j][i];
            }
    }
    __syncthreads();
}

// Multiply by the large layers of network and target: a warp takes 32 rows of the batch, and 128 inputs
INLINE void apply_large(Shared &sh, Here here, int now) {
    const int thread = here.thread, warp = here.warp;
    const int lane = anew(thread % 32), group = lane / 4, member = lane % 4;
    const int net = warp / 8, k_part = warp / 2 % 4, m_part = warp % 2;
    const float (*first)[H] = net == ONLINE ? sh.first[now] : sh.target_first;
    const float *w2[2];  // the first numbers of two pairs of columns; others are 8 rows on, or 4
#pragma unroll
    for (int p = 0; p < 2; ++p)
        w2[p] = sh.w2[net] + place(128 * k_part + member, 16 * p + 2 * group);
    const float *w1 = first[0] + 128 * k_part + member;
    float x[4][D], sums[2][4][4] = {};
#pragma unroll
    for (int q = 0; q < 4; ++q)
#pragma unroll
        for (int d = 0; d < D; ++d)
            x[q][d] = as_float(sh.rows[32 * m_part + 8 * q + group][net * D + d]);
#pragma unroll 4
    for (int k0 = 0; k0 < 128; k0 += 8) {
        unsigned a[2][4];
        float2 b[2][2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int k = k0 + 4 * half;
#pragma unroll
            for (int p = 0; p < 2; ++p) b[half][p] = reinterpret_cast<const float2 &>(w2[p][k * N]);
            float w[FIRST];
#pragma unroll
            for (int d = 0; d < FIRST; ++d) w[d] = w1[d * H + k];
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                float h = w[D];
#pragma unroll
                for (int d = 0; d < D; ++d) h += x[q][d] * w[d];
                a[q / 2][q % 2 + 2 * half] = __float_as_uint(fmaxf(h, 0.0f));
            }
        }
#pragma unroll
        for (int p = 0; p < 2; ++p)
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                multiply_add(sums[i][2 * p], a[i], tf32(b[0][p].x), tf32(b[1][p].x));
                multiply_add(sums[i][2 * p + 1], a[i], tf32(b[0][p].y), tf32(b[1][p].y));
            }
    }
    auto each_four = [&](auto visit) {
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int p = 0; p < 2; ++p)
#pragma unroll
                for (int c = 0; c < 4; c += 2) {
                    const int at = place(32 * m_part + 16 * i + 4 * c + group, 16 * p + 4 * member);
                    const float(&even)[4] = sums[i][2 * p], (&odd)[4] = sums[i][2 * p + 1];
                    visit(reinterpret_cast<float4 &>(sh.sums[net][k_part % 2][at]),
                          make_float4(even[c], odd[c], even[c + 1], odd[c + 1]));
                }
    };
    if (k_part >= 2) each_four([](float4 &at, float4 part) { at = part; });
    __syncthreads();
    if (k_part < 2) each_four([](float4 &at, float4 part) { at = at + part; });
    __syncthreads();
}

// Store the steps, one in a thread; the other blocks need no more of them than their rewards
INLINE void store_steps(Shared &sh, Here here, int *replay, int *visits, int t, int code_of_step, int seen) {
    const int lane = here.lane;
    float reward = 0.0f;
    if (lane < STEPS) {
        const int cell = code_of_step * A + sh.fresh[lane][WORDS - 2];
        int n = seen + 1;
        bool is_last = true;
        for (int i = 0; i < STEPS; ++i) {
            const bool is_same = sh.fresh[i][WORDS - 1] * A + sh.fresh[i][WORDS - 2] == cell;
            n += is_same && i < lane;
            is_last = is_last && (i <= lane || !is_same);
        }
        const int visit[2] = {sh.fresh[lane][2 * D], n};
        int kept[2];
        keep(sh.fixed, visit, kept);
        if (is_last) visits[cell] = n;
        if (kept[1]) atomicAdd(&sh.state[TRUNCATED], 1);
        int *to = replay + (size_t)((t + lane) % REPLAY) * WORDS;
        for (int i = 0; i < WORDS; ++i) to[i] = i == 2 * D ? kept[0] : sh.fresh[lane][i];
        reward = as_float(kept[0]);
    }
    for (int j = 0; j < STEPS; ++j) {
        const float kept = __shfl_sync(~0u, reward, j);
        if (lane < RANKS) write_to(&sh.kept[j], lane, kept);
    }
}

// Multiply by the last layers: four outputs of the large one in a thread, which keeps the network's
INLINE void apply_last(Shared &sh, Here here, float (&y)[4]) {
    const int thread = here.thread, row = thread / 8, column = thread % 8 * 4;
#pragma unroll
    for (int net = TARGET; net >= ONLINE; --net) {
        const float4 p = reinterpret_cast<float4 &>(sh.sums[net][0][place(row, column)]);
        const float4 q = reinterpret_cast<float4 &>(sh.sums[net][1][place(row, column)]);
        y[0] = p.x + q.x, y[1] = p.y + q.y, y[2] = p.z + q.z, y[3] = p.w + q.w;
        float parts[A] = {};
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            y[c] = fmaxf(y[c] + sh.b2[net][column + c], 0.0f);
#pragma unroll
            for (int a = 0; a < A; ++a) parts[a] += y[c] * sh.w3[net][column + c][a];
        }
#pragma unroll
        for (int a = 0; a < A; ++a) {
            for (int i = 1; i < 8; i *= 2) parts[a] += __shfl_xor_sync(~0u, parts[a], i);
            if (thread % 8 == 0) sh.parts[row][net * A + a] = parts[a];
        }
    }
}

// Add up values, and find the derivatives of the loss by them
INLINE void find_slopes(Shared &sh, Here here) {
    const int thread = here.thread, warp = here.warp, lane = here.lane, member = lane % 4;
#pragma unroll
    for (int i = 4 * lane; i < 2 * A * BATCH; i += 128)  // a warp reads from a block
        reinterpret_cast<float4 &>(sh.inbox[warp][i]) = read4_from(sh.parts[0] + i, warp);
    __syncthreads();
    if (thread < 4 * BATCH) {  // a thread adds the values of one transition in four blocks
        float values[2 * A] = {};
        const int *transition = sh.rows[thread / 4];
#pragma unroll
        for (int r = 0; r < RANKS; r += 4)
#pragma unroll
            for (int i = 0; i < 2 * A; ++i) values[i] += sh.inbox[r + member][thread / 4 * 2 * A + i];
#pragma unroll
        for (int i = 0; i < 2 * A; ++i) {
            values[i] += __shfl_xor_sync(~0u, values[i], 1);
            values[i] += __shfl_xor_sync(~0u, values[i], 2);
            values[i] += sh.b3[i / A][i % A];
        }
        float best = values[A], value = values[0];
        const int action = transition[2 * D + 2], is_new = sh.is_new[thread / 4];
#pragma unroll
        for (int a = 1; a < A; ++a) {
            const float other = values[A + a];
            best = other > best || other != other ? other : best;  // what is no number stays, as in JAX
            value = a == action ? values[a] : value;
        }
        const float reward = is_new < 0 ? as_float(transition[2 * D]) : sh.kept[is_new];
        const float error = value - reward - (transition[2 * D + 1] ? 0.0f : DISCOUNT * best);
        const float slope = !HUBER ? 2.0f * error : error < -1.0f ? -1.0f : error > 1.0f ? 1.0f : error;
        if (member == 0) sh.slope[thread / 4] = slope / BATCH;
    }
    __syncthreads();
}

// Find derivatives by the large layer's outputs
INLINE void differentiate_outputs(Shared &sh, Here here, float (&y)[4]) {
    const int row = here.thread / 8, column = here.thread % 8 * 4;
    const float slope = sh.slope[row];
    const int action = sh.rows[row][2 * D + 2], at = place(row, column);
    float by_y[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        by_y[c] = y[c] > 0.0f ? slope * sh.w3[ONLINE][column + c][action] : 0.0f;
        y[c] *= slope;
    }
    reinterpret_cast<uint4 &>(sh.slopes2[at]) =
        make_uint4(tf32(by_y[0]), tf32(by_y[1]), tf32(by_y[2]), tf32(by_y[3]));
    reinterpret_cast<float4 &>(sh.gradient.by_last[at]) = make_float4(y[0], y[1], y[2], y[3]);
}

// Find parts of the gradients of the large layer's biases and of the last layer
INLINE void differentiate_small(Shared &sh, Here here) {
    const int warp = here.warp, lane = here.lane;
    float small[A + 1] = {};
#pragma unroll
    for (int b = BATCH / WARPS * warp; b < BATCH / WARPS * (warp + 1); ++b) {
        const float by_last = sh.gradient.by_last[place(b, lane)];
        const int action = sh.rows[b][2 * D + 2];
#pragma unroll
        for (int a = 0; a < A; ++a) small[a] += a == action ? by_last : 0.0f;
        small[A] += sh.slopes2[place(b, lane)];
    }
#pragma unroll
    for (int a = 0; a <= A; ++a) sh.gradient.small[warp][lane][a] = small[a];
}

// Find this block's part of the first layer's gradient: derivatives by 16 inputs of the large layer, where
// those are positive, times observations; what the first product gives is a factor of the second
INLINE void differentiate_first(Shared &sh, Here here, int now) {
    const int thread = here.thread, warp = here.warp;
    const unsigned *slopes2 = reinterpret_cast<const unsigned *>(sh.slopes2);
#pragma unroll 1
    for (int h0 = 32 * warp; h0 < 32 * warp + 32; h0 += 16) {
        const int lane = anew(thread % 32), group = lane / 4, member = lane % 4;
        unsigned a[4][4];
        float w[2][FIRST], gradient[4] = {};
#pragma unroll
        for (int up = 0; up < 2; ++up) {
            const int h = h0 + 8 * up + group;
#pragma unroll
            for (int p = 0; p < 2; ++p) {
                const float4 u = reinterpret_cast<float4 &>(sh.w2[ONLINE][place(h, 16 * p + 4 * member)]);
                a[2 * p][up] = tf32(u.x), a[2 * p][up + 2] = tf32(u.y);
                a[2 * p + 1][up] = tf32(u.z), a[2 * p + 1][up + 2] = tf32(u.w);
            }
#pragma unroll
            for (int d = 0; d < FIRST; ++d) w[up][d] = sh.first[now][d][h];
        }
        const unsigned *slopes[2];
#pragma unroll
        for (int p = 0; p < 2; ++p) slopes[p] = slopes2 + place(group, 16 * p + 4 * member);
        const int *observations = sh.rows[2 * member];
#pragma unroll
        for (int half = 0; half < BATCH; half += BATCH / 2) {
            float by_input[4][4] = {};
#pragma unroll
            for (int p = 0; p < 2; ++p)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const uint4 u = reinterpret_cast<const uint4 &>(slopes[p][(half + 8 * i) * N]);
                    multiply_add(by_input[i], a[2 * p], u.x, u.y);
                    multiply_add(by_input[i], a[2 * p + 1], u.z, u.w);
                }
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                unsigned kept[4], x[2];
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const int *observation = observations + (half + 8 * i + e) * ROW;
                    x[e] = group < D ? observation[group] : as_int(group == D ? 1.0f : 0.0f);
#pragma unroll
                    for (int up = 0; up < 2; ++up) {
                        float in = w[up][D];
#pragma unroll
                        for (int d = 0; d < D; ++d) in += as_float(observation[d]) * w[up][d];
                        kept[up + 2 * e] = in > 0.0f ? as_int(by_input[i][2 * up + e]) : 0;
                    }
                }
                multiply_add(gradient, kept, x[0], x[1]);
            }
        }
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            const int d = 2 * member + c % 2;
            if (d <= D) sh.gradient.first[d * H + h0 + 8 * (c / 2) + group] = gradient[c];
        }
    }
}

// Take Adam's step on 16 of a warp's 32 rows of the slice
INLINE void update_slice(Shared &sh, Here here, int now, int i, Rates rates, Moments &moments) {
    const int thread = here.thread, warp = here.warp;
    const unsigned *slopes2 = reinterpret_cast<const unsigned *>(sh.slopes2);
    const int lane = anew(thread % 32), group = lane / 4, member = lane % 4;
    float sums[4][4] = {}, w[FIRST][2];
#pragma unroll
    for (int d = 0; d < FIRST; ++d)
#pragma unroll
        for (int up = 0; up < 2; ++up)
            w[d][up] = sh.first[now][d][32 * warp + 16 * i + 8 * up + group];
    const unsigned *slopes[2];
#pragma unroll
    for (int p = 0; p < 2; ++p) slopes[p] = slopes2 + place(member, 16 * p + 2 * group);
    const int *observations = sh.rows[member];
#pragma unroll
    for (int k0 = 0; k0 < BATCH; k0 += 8) {
        unsigned a[4];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float x[D];
#pragma unroll
            for (int d = 0; d < D; ++d) x[d] = as_float(observations[(k0 + 4 * half) * ROW + d]);
#pragma unroll
            for (int up = 0; up < 2; ++up) {
                float in = w[D][up];
#pragma unroll
                for (int d = 0; d < D; ++d) in += x[d] * w[d][up];
                a[up + 2 * half] = __float_as_uint(fmaxf(in, 0.0f));
            }
        }
#pragma unroll
        for (int p = 0; p < 2; ++p) {
            uint2 b[2];
#pragma unroll
            for (int half = 0; half < 2; ++half)
                b[half] = reinterpret_cast<const uint2 &>(slopes[p][(k0 + 4 * half) * N]);
            multiply_add(sums[2 * p], a, b[0].x, b[1].x);
            multiply_add(sums[2 * p + 1], a, b[0].y, b[1].y);
        }
    }
#pragma unroll
    for (int c = 0; c < 4; c += 2)
#pragma unroll
        for (int p = 0; p < 2; ++p) {
            const int at = place(32 * warp + 16 * i + 4 * c + group, 16 * p + 4 * member);
            float4 &to = reinterpret_cast<float4 &>(sh.w2[ONLINE][at]);
            float(*m)[4] = moments.mean + 2 * p, (*v)[4] = moments.square + 2 * p, (*g)[4] = sums + 2 * p;
            float4 u = to;
            u.x = adam(u.x, g[0][c], m[0][c], v[0][c], rates);
            u.y = adam(u.y, g[1][c], m[1][c], v[1][c], rates);
            u.z = adam(u.z, g[0][c + 1], m[0][c + 1], v[0][c + 1], rates);
            u.w = adam(u.w, g[1][c + 1], m[1][c + 1], v[1][c + 1], rates);
            to = u;
        }
}

// Take Adam's step on the biases of values, which are in every block and change alike in all
INLINE void update_last_biases(Shared &sh, Here here, Rates rates) {
    const int warp = here.warp, lane = here.lane;
    if (warp == WARPS - 1)
        for (int a = 0; a < A; ++a) {
            float gradient = 0.0f;
            for (int b = lane; b < BATCH; b += 32)
                gradient += sh.rows[b][2 * D + 2] == a ? sh.slope[b] : 0.0f;
            gradient = sum_of_warp(gradient);
            float &w = sh.b3[ONLINE][a];
            if (lane == 0) w = adam(w, gradient, sh.b3_mean[a], sh.b3_square[a], rates);
        }
}

// Take Adam's step on the other small layers; of the first one a block has the columns of its slice
INLINE void update_small(Shared &sh, Here here, int now, Rates rates) {
    const int rank = here.rank, thread = here.thread;
    for (int i = thread; i < N * (A + 1); i += THREADS) {
        const int n = i / (A + 1), a = i % (A + 1);
        float gradient = 0.0f;
#pragma unroll
        for (int k = 0; k < WARPS; ++k) gradient += sh.gradient.small[k][n][a];
        float &w = a < A ? sh.w3[ONLINE][n][a] : sh.b2[ONLINE][n];
        w = adam(w, gradient, sh.small_mean[n][a], sh.small_square[n][a], rates);
    }
    for (int i = thread; i < FIRST * N; i += THREADS) {
        const int d = i / N, h = rank * N + i % N;
        float parts[RANKS], gradient = 0.0f;
#pragma unroll
        for (int r = 0; r < RANKS; ++r) parts[r] = read_from(&sh.gradient.first[d * H + h], r);
#pragma unroll
        for (int r = 0; r < RANKS; ++r) gradient += parts[r];
        const float w =
            adam(sh.first[now][d][h], gradient, sh.first_mean[i], sh.first_square[i], rates);
        for (int r = 0; r < RANKS; ++r) write_to(&sh.first[1 - now][d][h], r, w);
    }
}

// Give a run back to memory
INLINE void give_run(Shared &sh, Here here, Arrays &arrays, int now, int updates, Moments (&moments)[2]) {
    const size_t run = here.run;
    each_weight(here, [&](int h, int n, int i, int j, int c) {
        arrays.network.w2[in_large(here, h, n)] = sh.w2[ONLINE][place(h, n)];
        arrays.target.w2[in_large(here, h, n)] = sh.w2[TARGET][place(h, n)];
        arrays.mean.w2[in_large(here, h, n)] = moments[i].mean[j][c];
        arrays.square.w2[in_large(here, h, n)] = moments[i].square[j][c];
    });
    __syncthreads();
    for (int net = ONLINE; net <= TARGET; ++net) {
        const float (*first)[H] = net == ONLINE ? sh.first[now] : sh.target_first;
        each_small(
            here, net == ONLINE ? arrays.network : arrays.target,
            [&](float &x, int i) { x = first[i / N][here.rank * N + i % N]; },
            [&](float &x, int n, int a) { x = a < A ? sh.w3[net][n][a] : sh.b2[net][n]; },
            [&](float &x, int a) { if (here.rank == 0) x = sh.b3[net][a]; });
    }
    each_small(
        here, arrays.mean, [&](float &x, int i) { x = sh.first_mean[i]; },
        [&](float &x, int n, int a) { x = sh.small_mean[n][a]; },
        [&](float &x, int a) { if (here.rank == 0) x = sh.b3_mean[a]; });
    each_small(
        here, arrays.square, [&](float &x, int i) { x = sh.first_square[i]; },
        [&](float &x, int n, int a) { x = sh.small_square[n][a]; },
        [&](float &x, int a) { if (here.rank == 0) x = sh.b3_square[a]; });
    if (here.rank == 0) {
        for (int i = here.thread; i < STATE; i += THREADS) arrays.state[run * STATE + i] = sh.state[i];
        if (here.thread == 0) arrays.updates[here.run] = updates;
    }
}

extern "C" __global__ void __cluster_dims__(RANKS, 1, 1) __launch_bounds__(THREADS)
    run_rounds(Arrays arrays, int n_runs) {
    SHARED_MEMORY(memory);
    Shared &sh = *reinterpret_cast<Shared *>(memory);
    const int rank = blockIdx.x % RANKS, run = blockIdx.x / RANKS, thread = threadIdx.x;
    const Here here = {run, rank, thread, thread / 32, thread % 32};
    int *const replay = arrays.replay + (size_t)run * REPLAY * WORDS;
    int *const visits = arrays.visits + (size_t)run * VISITS;
    const int updates = arrays.updates[run], steps = arrays.clock[0], n_rounds = arrays.clock[1];
    Moments moments[2];  // of a warp's 32 rows of the slice
    float y[4];  // outputs of the large layer
    int code_of_step = 0, seen = 0;  // of a step of the round
    int now = 0;  // which of the two first layers

    take_run(sh, here, arrays, moments);
    fetch_drawn(sh, here, arrays, n_runs, 0);
    if (thread == 0)
        for (auto &barrier : sh.arrived) make_barrier(&barrier);
    arrive();
    wait();  // nobody writes into a block that has not begun

    for (int round = 0; round < n_rounds; ++round) {
        const int t = steps + round * STEPS;
        const int *drawn = sh.drawn[round % 2];
        wait_for_copies();
        __syncthreads();
        if (round % ROUNDS == 0) set_target(sh, here, now);
        const int stored = min(t + STEPS, REPLAY);
        fetch_batch(sh, here, replay, drawn, stored);
        if (round + 1 < n_rounds) fetch_drawn(sh, here, arrays, n_runs, round + 1);
        for (int j = 0; j < STEPS; ++j)
            act(sh, here, visits, drawn, t, round, j, updates, now, code_of_step, seen);
        insert_steps(sh, here, t, drawn, stored);

        apply_large(sh, here, now);
        if (rank == 0 && here.warp == 1) store_steps(sh, here, replay, visits, t, code_of_step, seen);
        apply_last(sh, here, y);
        arrive();
        wait();
        find_slopes(sh, here);
        differentiate_outputs(sh, here, y);
        __syncthreads();
        differentiate_small(sh, here);
        differentiate_first(sh, here, now);
        arrive();

        const Rates rates = sh.rates;
        __syncwarp();  // a warp changes the rows that it alone has read
        update_slice(sh, here, now, 0, rates, moments[0]);
        // Between the halves of the slice, so that no block waits for others
        update_last_biases(sh, here, rates);
        wait();
        update_small(sh, here, now, rates);
        arrive();
        update_slice(sh, here, now, 1, rates, moments[1]);
        wait();
        now = 1 - now;
    }
    give_run(sh, here, arrays, now, updates + n_rounds, moments);
}
