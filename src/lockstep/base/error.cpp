#include "lockstep/base/error.h"

#include <array>
#include <utility>

namespace lockstep {
namespace {

struct KindFacts {
  ErrorKind kind;
  std::string_view name;
  int exit_code;
};

constexpr std::array<KindFacts, 8> kKinds{{
    {ErrorKind::kUsage, "usage", 2},
    {ErrorKind::kEnvironment, "environment", 3},
    {ErrorKind::kData, "data", 4},
    {ErrorKind::kPeer, "peer", 5},
    {ErrorKind::kWorker, "worker", 5},
    {ErrorKind::kMemory, "memory", 6},
    {ErrorKind::kInterrupted, "interrupted", 130},
    {ErrorKind::kInternal, "internal", 70},
}};

const KindFacts& facts(ErrorKind kind) {
  for (const KindFacts& entry : kKinds) {
    if (entry.kind == kind) return entry;
  }
  return kKinds.back();
}

}  // namespace

Error::Error(ErrorKind kind, const std::string& message, std::string hint)
    : std::runtime_error(message), kind_(kind), hint_(std::move(hint)) {}

int exit_code(ErrorKind kind) {
  return facts(kind).exit_code;
}

std::string_view kind_name(ErrorKind kind) {
  return facts(kind).name;
}

ErrorKind kind_from_name(std::string_view name) {
  for (const KindFacts& entry : kKinds) {
    if (entry.name == name) return entry.kind;
  }
  return ErrorKind::kInternal;
}

std::string format_error(const Error& error) {
  std::string text = "error: " + std::string(error.what()) + "\n";
  if (!error.hint().empty()) text += "hint: " + error.hint() + "\n";
  return text;
}

}  // namespace lockstep
