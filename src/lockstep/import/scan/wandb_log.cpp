#include "lockstep/import/scan/wandb_log.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cstring>

namespace lockstep::import {
namespace {

constexpr std::string_view kWandbHead(":W&B\xe1\xbe\0", 7);
constexpr std::size_t kWandbBlock = 32 * 1024;
constexpr std::size_t kPieceHead = 7;
constexpr std::size_t kLongestWandbRecord = 64 * 1024 * 1024;

enum PieceType : unsigned char { kPadding = 0, kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

}  // namespace

bool is_wandb_log(std::string_view bytes) {
  return bytes.starts_with(kWandbHead.substr(0, 6));
}

WandbLog::WandbLog(Input& input) : input_(input) {
  std::array<char, kWandbHead.size()> head{};
  if (take(head.data(), head.size()) < head.size() || !is_wandb_log({head.data(), head.size()}))
    problem_ = fmt::format("{} is not the record of a Weights & Biases run", input_.name());
}

bool WandbLog::next(std::string& record) {
  if (!problem_.empty()) return false;
  record.clear();
  bool begun = false;
  for (;;) {
    const std::size_t left = kWandbBlock - input_.offset() % kWandbBlock;
    std::array<char, kPieceHead> head{};
    if (left < kPieceHead) {
      if (take(head.data(), left) < left) return false;
      continue;
    }
    const std::size_t have = take(head.data(), head.size());
    if (have == 0 && !begun) return false;
    if (have < head.size()) return fail("breaks off");
    std::uint32_t checksum = 0;
    std::uint16_t size = 0;
    std::memcpy(&checksum, head.data(), 4);
    std::memcpy(&size, head.data() + 4, 2);
    const auto type = static_cast<unsigned char>(head[6]);
    if (type == kPadding && size == 0 && checksum == 0 && !begun) return false;
    if (type < kWhole || type > kLast || size > left - kPieceHead)
      return fail("has a record of an unknown kind");
    if (begun != (type == kMiddle || type == kLast)) return fail("has a record out of order");
    const std::size_t before = record.size();
    if (before + size > kLongestWandbRecord) return fail("has a record of more than 64 MB");
    record.resize(before + size);
    if (take(record.data() + before, size) < size) return fail("breaks off");
    uLong found = crc32(0, reinterpret_cast<const Bytef*>(head.data() + 6), 1);
    found = crc32(found, reinterpret_cast<const Bytef*>(record.data() + before), size);
    if (found != checksum) return fail("has a record that fails its checksum");
    if (type == kWhole || type == kLast) return true;
    begun = true;
  }
}

std::size_t WandbLog::take(char* data, std::size_t size) {
  std::size_t have = 0;
  while (have < size) {
    const std::size_t count = input_.read(data + have, size - have);
    if (count == 0) break;
    have += count;
  }
  return have;
}

bool WandbLog::fail(const char* what) {
  problem_ = fmt::format("{} {} at byte {}; what came before it was read", input_.name(), what,
                         input_.offset());
  return false;
}

}  // namespace lockstep::import
