#include "lockstep/base/rng.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace lockstep {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Rng::Rng(std::uint64_t a, std::uint64_t b, std::uint64_t c)
    : state_(mix(mix(mix(a + kGolden) + b + kGolden) + c + kGolden)) {}

std::uint64_t Rng::next() {
  return mix(state_ += kGolden);
}

double Rng::uniform() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

std::uint64_t Rng::below(std::uint64_t bound) {
  // Lemire's method: the high word of a product, with the short tail rejected.
  while (true) {
    const auto product = static_cast<unsigned __int128>(next()) * bound;
    const auto low = static_cast<std::uint64_t>(product);
    if (low >= bound || low >= (0 - bound) % bound)
      return static_cast<std::uint64_t>(product >> 64);
  }
}

double Rng::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::vector<std::uint32_t> random_permutation(std::uint32_t size, Rng rng) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t i = size; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

}  // namespace lockstep
