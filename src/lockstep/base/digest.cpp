#include "lockstep/base/digest.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

namespace lockstep {
namespace {

constexpr std::uint64_t kSpreadWord = 0xc2b2ae3d27d4eb4fULL;
constexpr std::uint64_t kSpreadState = 0x9e3779b97f4a7c15ULL;

/// Word and state are multiplied apart: with one multiplication, a changed top bit would leave a
/// single changed bit in the state, which a change of the next word could undo.
std::uint64_t stir(std::uint64_t state, std::uint64_t word) {
  return std::rotl(state + word * kSpreadWord, 31) * kSpreadState;
}

}  // namespace

std::uint64_t digest(std::span<const std::byte> bytes) {
  // Four lanes, so that the multiplications overlap.
  std::array<std::uint64_t, 4> lanes{1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32) {
    std::array<std::uint64_t, 4> words;
    std::memcpy(words.data(), bytes.data() + at, 32);
    for (std::size_t i = 0; i < 4; ++i) lanes[i] = stir(lanes[i], words[i]);
  }
  std::uint64_t result = bytes.size();
  for (std::uint64_t lane : lanes) result = stir(result, lane);
  for (; at < bytes.size(); ++at) {
    result = stir(result, static_cast<std::uint64_t>(bytes[at]) + 1);
  }
  return result ^ (result >> 32);
}

std::string format_digest(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

}  // namespace lockstep
