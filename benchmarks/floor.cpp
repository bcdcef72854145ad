// The floor: Q-learning with UCB-Hoeffding bonuses on SixArms, written by hand for this one task. Same algorithm, same generator and
// the same draws as heavytail, and so the same numbers: the benchmark checks the totals that this prints.
//
//   floor TRAINED TIMED NOISE BONUS THRESHOLD REWARD_BONUS B S0 ... S7
//
// TRAINED episodes before the clock starts, TIMED ones while it runs; NOISE 0 or 1; BONUS is b_1; the next three are Heavy-Q-Learning's (B_t over
// t^a with a = 1 - b, the bonus of rewards times t^b, and b); two xoshiro256++ states (transitions, rewards). It prints the processor's seconds of the timed episodes, the
// totals of all, of mean and of realised rewards, and how many rewards were truncated.
//
// -DTABLES    the environment is read from arrays, as heavytail reads it, instead of standing in the code; the same totals
// -DHEAVY     Heavy-Q-Learning: rewards are truncated, and the bonus has a second part
// -DTEXTBOOK  the functions of the C library, alpha-stable draws as textbooks write them, with two powers; the same laws, but other numbers in the last places
// -DBATCHES   the same, but stable draws are made 256 at a time, in loops that g++ turns into vector code with -ffast-math
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

struct Stream {
  uint64_t s[4];
  static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  uint64_t bits() {
    const uint64_t out = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3];
    s[2] ^= t; s[3] = rotate(s[3], 45);
    return out;
  }
  double uniform() { return (bits() >> 11) * 0x1p-53; }
  double open_uniform() { return ((bits() >> 12) + 0.5) * 0x1p-52; }
};

constexpr int S = 7, A = 6, H = 25;
constexpr double kPi = 3.14159265358979323846, kReach[A] = {1.0, 0.2, 0.2, 0.2, 0.2, 0.2};

double arm_mean(int arm) { return arm == 0 ? 1.2 : 1.0 + 0.2 * arm; }

#if defined(TEXTBOOK) || defined(BATCHES)
double exponential(double w) { return -std::log(w); }

double normal(double u, double e) { return std::sqrt(2.0 * e) * std::cos(2.0 * kPi * u); }

inline double stable(double alpha, double u, double e) {
  const double angle = kPi * (u - 0.5), turned = alpha * angle, inverse = 1.0 / alpha;
  return std::sin(turned) / std::pow(std::cos(angle), inverse) * std::pow(std::cos(angle - turned) / e, inverse - 1.0);
}

struct Power {
  double p;
  double operator()(double t) const { return std::pow(t, p); }
};
#else
// heavytail's own functions: see elementary.py, powers.py and alpha_stable.py there.
uint64_t bits_of(double x) { uint64_t b; std::memcpy(&b, &x, 8); return b; }
double float_of(uint64_t b) { double x; std::memcpy(&x, &b, 8); return x; }

constexpr uint64_t kSqrtHalf = 0x3FE6A09E667F3BCD, kOne = 0x3FF0000000000000, kTwo52 = 0x4330000000000000, kFraction = 0x000FFFFFFFFFFFFF;
constexpr double kHigh = 0.6931471803691238, kLow = 1.9082149292705877e-10, kRounder = 1.5 * 0x1p52;

double own_sin(double x) {
  const double z = x * x;
  double p = -7.643970296798572e-13 + z * 2.7314447669863995e-15;
  p = -2.5052107616996182e-08 + z * (1.6058977312464087e-10 + z * p);
  p = -0.00019841269841254974 + z * (2.7557319219163234e-06 + z * p);
  p = -0.16666666666666666 + z * (0.008333333333333316 + z * p);
  return x + x * (z * p);
}

double own_log(double x) {
  const uint64_t shifted = bits_of(x) + (kOne - kSqrtHalf);
  const double exponent = float_of((shifted >> 52) | kTwo52) - (0x1p52 + 1023.0);
  const double f = float_of((shifted & kFraction) + kSqrtHalf) - 1.0, s = f / (2.0 + f), z = s * s, square = 0.5 * f * f;
  double p = 0.15331721600556042 + z * 0.14616449685043406;
  p = 0.2222221113479508 + z * (0.18182889125261723 + z * p);
  p = 0.39999999999899505 + z * (0.28571428625975487 + z * p);
  p = z * (0.666666666666667 + z * p);
  return exponent * kHigh - ((square - (s * (square + p) + exponent * kLow)) - f);
}

double own_exp(double x) {
  const double rounded = std::min(std::max(x, -708.0), 709.0) * 1.4426950408889634 + kRounder, exponent = rounded - kRounder;
  const double r = (x - exponent * kHigh) - exponent * kLow;
  double p = 2.7620075879983367e-07 + r * 2.5100375832561234e-08;
  p = 2.4801521322368692e-05 + r * (2.7557268480310024e-06 + r * p);
  p = 0.0013888888917196719 + r * (0.00019841269863040545 + r * p);
  p = 0.041666666666624164 + r * (0.008333333333330065 + r * p);
  p = 0.5000000000000001 + r * (0.16666666666666669 + r * p);
  const double value = (1.0 + (r + r * r * p)) * float_of((bits_of(rounded) + 1023) << 52);
  return x >= 709.0 ? INFINITY : x >= -708.0 ? value : 0.0;
}

double exponential(double w) { return -own_log(w); }

double normal(double u, double e) { return std::sqrt(2.0 * e) * own_sin(kPi * (2.0 * std::abs(u - 0.5) - 0.5)); }

double stable(double alpha, double u, double e) {
  const double angle = kPi * (u - 0.5), turned = alpha * angle, size = std::abs(turned), half = 0.5 * kPi;
  const double sine = std::copysign(own_sin(size > half ? kPi - size : size), turned), cosine = own_sin(kPi * std::min(u, 1.0 - u));
  const double other = std::max(std::abs(own_sin(half - std::abs(angle - turned))), 0x1p-60);
  return sine / cosine * own_exp((1.0 / alpha - 1.0) * own_log(other / (e * cosine)));
}

struct Power {
  double of_two[64], of_middle[64], inverse[64], c[7];

  explicit Power(double p) {
    for (int i = 0; i < 64; ++i) {
      inverse[i] = 1.0 / (1.0 + (i + 0.5) / 64);
      of_two[i] = std::pow(std::ldexp(1.0, i), p);
      of_middle[i] = std::pow(inverse[i], -p);
    }
    for (int i = 0; i < 7; ++i) c[i] = (i ? c[i - 1] : 1.0) * ((p - i) / (i + 1.0));
  }
  double operator()(double t) const {
    const uint64_t bits = bits_of(t), piece = (bits >> 46) & 63;
    const double x = float_of((bits & kFraction) | kOne) * inverse[piece] - 1.0;
    const double square = x * x, tail = (c[3] + x * c[4]) + square * (c[5] + x * c[6]);
    const double grown = 1.0 + ((x * c[0] + square * (c[1] + x * c[2])) + square * square * tail);
    return of_two[(bits >> 52) - 1023] * of_middle[piece] * grown;
  }
};
#endif

#ifdef BATCHES
struct Batch {
  static constexpr int kSize = 256;
  double u[kSize], e[kSize], x[kSize];
  int at = kSize;

  int next(Stream &rewards) {
    if (at == kSize) fill(rewards);
    return at++;
  }
  void fill(Stream &rewards) {
    at = 0;
    for (int i = 0; i < kSize; ++i) { u[i] = rewards.open_uniform(); e[i] = rewards.open_uniform(); }
    for (int i = 0; i < kSize; ++i) e[i] = exponential(e[i]);
    for (int i = 0; i < kSize; ++i) x[i] = stable(1.1, u[i], e[i]);
  }
};
#endif

struct Outcome { int next; double reward, mean; };

#ifdef TABLES
enum Law { kConstant, kNormal, kStable };

struct Environment {
  std::vector<uint32_t> offsets{0}, successors, law;         // row s * A + a owns the slots offsets[row] to offsets[row + 1]
  std::vector<double> cumulative, means, loc, scale, shape;  // the last three by law
  std::vector<int64_t> code;                                 // by law

  explicit Environment(bool noise) {
    add_law(kConstant, 0.0, 0.0, 0.0);
    for (int arm = 0; arm < A; ++arm)
      add_law(!noise ? kConstant : arm == 0 ? kNormal : kStable, arm_mean(arm), arm == 0 ? 0.1 : 1.0, 1.1);
    for (int s = 0; s < S; ++s)
      for (int a = 0; a < A; ++a) add_row(s, a);
  }
  void add_law(int64_t kind, double m, double spread, double alpha) {
    code.push_back(kind); loc.push_back(m); scale.push_back(spread); shape.push_back(alpha);
  }
  void add_row(int s, int a) {
    const bool pays = s == a + 1;
    if (s == 0 && kReach[a] < 1.0) add_slot(0, 1.0 - kReach[a], 0);
    add_slot(s == 0 || pays ? a + 1 : 0, 1.0, pays ? a + 1 : 0);
    offsets.push_back(successors.size());
    means.push_back(pays ? arm_mean(a) : 0.0);
  }
  void add_slot(int next, double up_to, int which) {
    successors.push_back(next); cumulative.push_back(up_to); law.push_back(which);
  }

  Outcome step(int s, int a, Stream &transitions, Stream &rewards) const {
    const uint64_t row = s * A + a;
    const double u = transitions.uniform();
    uint32_t slot = offsets[row], upper = offsets[row + 1] - 1;
    while (slot < upper) {
      const uint32_t middle = (slot + upper) >> 1;
      if (u < cumulative[middle]) upper = middle;
      else slot = middle + 1;
    }
    return {int(successors[slot]), draw(law[slot], rewards), means[row]};
  }
  double draw(uint32_t i, Stream &rewards) const {
    if (code[i] == kConstant) {
      rewards.bits();
      rewards.bits();
      return loc[i];
    }
    const double u = rewards.open_uniform(), e = exponential(rewards.open_uniform());
    return loc[i] + scale[i] * (code[i] == kNormal ? normal(u, e) : stable(shape[i], u, e));
  }
};
#else
struct Environment {
  bool noise;
  double mean[S][A] = {};
#ifdef BATCHES
  mutable Batch batch;
#endif

  explicit Environment(bool noisy) : noise(noisy) {
    for (int arm = 0; arm < A; ++arm) mean[arm + 1][arm] = arm_mean(arm);
  }
  Outcome step(int s, int a, Stream &transitions, Stream &rewards) const {
    const double u = transitions.uniform(), m = mean[s][a];
    int next = 0;
    if (s == 0) next = u < 1.0 - kReach[a] ? 0 : a + 1;
    else if (a == s - 1) next = s;
    const bool random = noise && s > 0 && a == s - 1;
#ifdef BATCHES
    const int i = batch.next(rewards);
    return {next, !random ? m : m + (a == 0 ? 0.1 * normal(batch.u[i], batch.e[i]) : batch.x[i]), m};
#endif
    if (random) {
      const double v = rewards.open_uniform(), e = exponential(rewards.open_uniform());
      return {next, m + (a == 0 ? 0.1 * normal(v, e) : stable(1.1, v, e)), m};
    }
    rewards.bits();
    rewards.bits();
    return {next, m, m};
  }
};
#endif

int main(int argc, char **argv) {
  if (argc != 16) return 2;
  const long trained = std::atol(argv[1]), episodes = trained + std::atol(argv[2]);
  const Environment environment(std::atoi(argv[3]));
  const double bonus = std::atof(argv[4]), r_max = 2.0;
#ifdef HEAVY
  const double threshold = std::atof(argv[5]), reward_bonus = std::atof(argv[6]);
  const Power decay{-std::atof(argv[7])};
#endif
  Stream transitions, rewards;
  for (int i = 0; i < 4; ++i) transitions.s[i] = std::strtoull(argv[8 + i], nullptr, 10);
  for (int i = 0; i < 4; ++i) rewards.s[i] = std::strtoull(argv[12 + i], nullptr, 10);

  std::vector<double> q(H * S * A);
  std::vector<int64_t> visits(H * S * A);
  for (int h = 0; h < H; ++h)
    for (int i = 0; i < S * A; ++i) q[h * S * A + i] = (H - h) * r_max;

  double total = 0.0, realised = 0.0;
  long truncated = 0;
  std::clock_t begin = std::clock();
  for (long episode = 0; episode < episodes; ++episode) {
    if (episode == trained) begin = std::clock();
    transitions.uniform();  // the first state, which is always the hub
    int s = 0;
    for (int h = 0; h < H; ++h) {
      const double *row = &q[(h * S + s) * A];
      int a = 0;
      for (int i = 1; i < A; ++i) if (row[i] > row[a]) a = i;

      const auto [next, r, mean] = environment.step(s, a, transitions, rewards);

      const double t = double(++visits[(h * S + s) * A + a]), rate = (H + 1.0) / (H + t);
      double kept = r;
#ifdef HEAVY
      const double decayed = decay(t);
      if (std::abs(r) > threshold * (t * decayed)) {
        kept = 0.0;
        ++truncated;
      }
      kept += reward_bonus * decayed;
#endif
      double target = kept + bonus / std::sqrt(t);
      if (h + 1 < H) {
        const double *after = &q[((h + 1) * S + next) * A];
        double best = after[0];
        for (int i = 1; i < A; ++i) if (after[i] > best) best = after[i];
        target += std::min((H - h - 1) * r_max, best);
      }
      double &cell = q[(h * S + s) * A + a];
      cell = (1.0 - rate) * cell + rate * target;
      total += mean;
      realised += r;
      s = next;
    }
  }
  const double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%.17g %.17g %.17g %ld\n", seconds, total, realised, truncated);
}
