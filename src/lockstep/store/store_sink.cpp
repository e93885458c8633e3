#include "lockstep/store/store_sink.h"

#include <fmt/format.h>

#include <utility>

namespace lockstep::store {

StoreSink::StoreSink(const std::string& path, Console& console, RunLabel label, AfterRun after)
    : path_(path), console_(console), writer_(path, std::move(label)), after_(std::move(after)) {}

void StoreSink::write(const record::Event& event) {
  const bool is_start = std::holds_alternative<record::RunStarted>(event);
  // Without its beginning a run has no place in the store; the failure was reported then.
  if (!is_start && !has_start_ && failure_) return;
  try {
    writer_.write(event);
    has_start_ = has_start_ || is_start;
  } catch (const Error& error) {
    if (failure_) return;
    failure_ = error;
    console_.err(
        fmt::format("warning: {}; the run continues, but its record will have gaps", error.what()));
  }
  if (!std::holds_alternative<record::RunEnded>(event) || failure_ || !after_) return;
  try {
    after_(path_, writer_.run_id());
  } catch (const Error&) {
    // The run itself is complete.
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

}  // namespace lockstep::store
