// The floor: Q-learning with UCB-Hoeffding bonuses on SixArms, written by hand for this one task. Same algorithm, same generator and
// the same scalar draws as heavytail, and so the same numbers: the benchmark checks the totals that this prints.
//
//   floor EPISODES NOISE BONUS S0 ... S7      NOISE 0 or 1; BONUS is b_1; two xoshiro256++ states (transitions, rewards)
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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

constexpr double kPi = 3.14159265358979323846;

double stable(double alpha, double u, double e) {
  const double angle = kPi * (u - 0.5), turned = alpha * angle, inverse = 1.0 / alpha;
  const double cosine = std::sin(kPi * std::fmin(u, 1.0 - u));
  return std::sin(turned) * std::exp((inverse - 1.0) * std::log(std::cos(angle - turned) / e) - inverse * std::log(cosine));
}

int main(int argc, char **argv) {
  if (argc != 12) return 2;
  const long episodes = std::atol(argv[1]);
  const bool noise = std::atoi(argv[2]);
  const double bonus = std::atof(argv[3]);
  Stream transitions, rewards;
  for (int i = 0; i < 4; ++i) transitions.s[i] = std::strtoull(argv[4 + i], nullptr, 10);
  for (int i = 0; i < 4; ++i) rewards.s[i] = std::strtoull(argv[8 + i], nullptr, 10);

  const int S = 7, A = 6, H = 25;
  const double r_max = 2.0, alpha = 1.1;
  double mean[S][A] = {}, reach[A] = {1.0, 0.2, 0.2, 0.2, 0.2, 0.2};
  for (int arm = 0; arm < A; ++arm) mean[arm + 1][arm] = arm == 0 ? 1.2 : 1.0 + 0.2 * arm;

  std::vector<double> q(H * S * A);
  std::vector<int64_t> visits(H * S * A);
  for (int h = 0; h < H; ++h)
    for (int i = 0; i < S * A; ++i) q[h * S * A + i] = (H - h) * r_max;

  double total = 0.0, realised = 0.0;
  const auto begin = std::chrono::steady_clock::now();
  for (long episode = 0; episode < episodes; ++episode) {
    transitions.uniform();  // the first state, which is always the hub
    int s = 0;
    for (int h = 0; h < H; ++h) {
      const double *row = &q[(h * S + s) * A];
      int a = 0;
      for (int i = 1; i < A; ++i) if (row[i] > row[a]) a = i;

      const double u = transitions.uniform();
      int next = 0;
      if (s == 0) next = u < 1.0 - reach[a] ? 0 : a + 1;
      else if (a == s - 1) next = s;

      double r = mean[s][a];
      if (noise && s > 0 && a == s - 1) {
        const double v = rewards.open_uniform(), e = -std::log(rewards.open_uniform());
        r += a == 0 ? 0.1 * (std::sqrt(2.0 * e) * std::cos(2.0 * kPi * v)) : stable(alpha, v, e);
      } else {
        rewards.bits();
        rewards.bits();
      }

      const double t = double(++visits[(h * S + s) * A + a]), rate = (H + 1.0) / (H + t);
      double target = r + bonus / std::sqrt(t);
      if (h + 1 < H) {
        const double *after = &q[((h + 1) * S + next) * A];
        double best = after[0];
        for (int i = 1; i < A; ++i) if (after[i] > best) best = after[i];
        target += std::fmin((H - h - 1) * r_max, best);
      }
      double &cell = q[(h * S + s) * A + a];
      cell = (1.0 - rate) * cell + rate * target;
      total += mean[s][a];
      realised += r;
      s = next;
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%.17g %.17g %.17g\n", seconds, total, realised);
}
