#include "lockstep/train/checkpoint/checkpoint_writer.h"

#include <utility>

namespace lockstep::train {
namespace {

constexpr Seconds kOneHour{3600};

void copy(std::vector<NamedTensor>& tensors) {
  for (NamedTensor& entry : tensors) {
    entry.tensor = entry.tensor.detach().to(torch::kCPU, /*non_blocking=*/false, /*copy=*/true);
  }
}

}  // namespace

void CheckpointWriter::write(Checkpoint checkpoint) {
  thread_.wait(Seconds(0));  // for what went wrong, not for its end
  copy(checkpoint.model);
  copy(checkpoint.optimizer);
  const auto between_epochs = [](const Checkpoint& one) { return one.position.step == 0; };
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](const Checkpoint& older) {
      return !between_epochs(older) || between_epochs(checkpoint);
    });
    waiting_.push_back(std::move(checkpoint));
  }
  thread_.add([this] { write_next(); });
}

void CheckpointWriter::write_next() {
  Checkpoint next;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return;  // given up for one that was written already
    next = std::move(waiting_.front());
    waiting_.pop_front();
  }
  const std::string path = put_(next);
  const std::lock_guard lock(mutex_);
  written_.push_back({path, next.position.epoch, next.position.total});
}

std::vector<record::CheckpointWritten> CheckpointWriter::take_written() {
  const std::lock_guard lock(mutex_);
  return std::exchange(written_, {});
}

void CheckpointWriter::finish() {
  while (!thread_.wait(kOneHour)) {
  }
}

}  // namespace lockstep::train
