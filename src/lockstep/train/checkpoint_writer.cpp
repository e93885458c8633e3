#include "lockstep/train/checkpoint_writer.h"

#include <memory>
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
  finish();
  copy(checkpoint.model);
  copy(checkpoint.optimizer);
  const auto kept = std::make_shared<const Checkpoint>(std::move(checkpoint));
  thread_.add([this, kept] {
    const std::string path = folder_.write(*kept);
    const std::lock_guard lock(mutex_);
    written_.push_back({path, kept->position.epoch, kept->position.total});
  });
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
