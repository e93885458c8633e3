#include "store_sink.h"

#include <fmt/format.h>

#include <utility>

#include "lockstep/collect/run_digests.h"

namespace lockstep::cli {

StoreSink::StoreSink(const std::string& path, Console& console, store::RunLabel label)
    : path_(path), console_(console), writer_(path, std::move(label)) {}

void StoreSink::write(const record::Event& event) {
  const bool is_start = std::holds_alternative<record::RunStarted>(event);
  // Without its beginning a run has no place in the store; the failure was told then.
  if (!is_start && !has_start_ && failure_) return;
  try {
    writer_.write(event);
    has_start_ = has_start_ || is_start;
  } catch (const Error& error) {
    if (failure_) return;
    failure_ = error;
    console_.err(
        fmt::format("warning: {}; the run goes on, its record will have gaps", error.what()));
  }
  if (!std::holds_alternative<record::RunEnded>(event) || failure_) return;
  try {
    collect::keep_digest(path_, writer_.run_id());
  } catch (const Error&) {
    // Nothing is lost: whoever looks at the run reads its steps.
  }
}

std::string StoreSink::place() const {
  return has_start_ ? fmt::format("run {} in {}", writer_.run_id(), path_) : "";
}

void StoreSink::check() const {
  if (!failure_) return;
  throw Error(ErrorKind::kData,
              fmt::format("the record of this run is incomplete: {}", failure_->what()),
              failure_->hint());
}

}  // namespace lockstep::cli
