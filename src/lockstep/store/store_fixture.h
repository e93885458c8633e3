#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "lockstep/base/test_folder.h"
#include "lockstep/record/event.h"

namespace lockstep::store {

/// A separate folder for each test, removed afterwards.
class StoreTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name = "lockstep.db") const { return folder_ + "/" + name; }

  static std::string bytes_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const TestFolder own_;
  const std::string folder_ = own_.path();
};

inline record::RunStarted started(int workers = 2, std::int64_t batch = 128,
                                  const std::string& recipe = "fashion") {
  record::RunStarted event;
  event.spec.recipe = recipe;
  event.spec.data.name = "fashion-mnist";
  event.spec.workers = workers;
  event.spec.batch_per_worker = batch;
  event.spec.epochs = 3;
  event.machine.host = "here";
  event.machine.cores = 2;
  event.build.version = "0.1.0";
  event.started_wall_ns = 1'700'000'000'000'000'000;
  event.steps_per_epoch = 234;
  return event;
}

inline record::EpochResult epoch(int number, double val_accuracy = 0.9) {
  record::EpochResult event;
  event.epoch = number;
  event.train_loss = 1.0 / number;
  event.val_accuracy = val_accuracy;
  event.examples = 60'000;
  event.train_s = 4;
  event.examples_per_s = 15'000;
  event.noise_scale = 300.5 * number;
  event.noise_scale_low = 200;
  return event;
}

/// `count` steps of each of two ranks, from step `first` on.
inline record::StepBlock steps(std::int64_t first, std::int64_t count) {
  record::StepBlock block;
  for (std::int64_t i = first; i < first + count; ++i) {
    for (int rank = 0; rank < 2; ++rank) {
      record::StepTimes step;
      step.rank = rank;
      step.epoch = 1;
      step.step = i;
      step.examples = 128;
      step.start_ns = 5'000'000'000'000 + i * 17'000'000;
      step.ready_ns = step.start_ns + 12'345'678 + rank;
      step.total_s = 0.0161;
      step.phase_s = {0.0004, 0, 0.0051, 0.0082, 0.0007, 0.0012, 0.0003, 0.0002};
      block.steps.push_back(step);
    }
  }
  return block;
}

}  // namespace lockstep::store
