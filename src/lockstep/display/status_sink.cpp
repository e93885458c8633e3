#include "lockstep/display/status_sink.h"

namespace lockstep::display {

void StatusSink::write(const record::Event& event) {
  if (const auto* started = std::get_if<record::RunStarted>(&event)) {
    progress_.emplace(*started, clock_);
  }
  const auto* epoch = std::get_if<record::EpochResult>(&event);
  if (epoch && progress_) progress_->finish_epoch(*epoch);
  const auto* now = std::get_if<record::Progress>(&event);
  if (!now || !progress_) return;
  progress_->update(*now);
  console_.set_status(prefix_ + progress_->bar());
}

}  // namespace lockstep::display
