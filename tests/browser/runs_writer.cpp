/// For the browser tests: fills a store with made-up runs, or plays one in progress.
///   runs_writer finished STORE STUDY RUNS STEPS   writes finished runs with steps of two ranks
///   runs_writer live STORE STUDY                  one more bit of the only run of a study for
///   every
///                                                 line of input
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>

#include "lockstep/collect/run_digests.h"
#include "lockstep/store/run_writer.h"
#include "lockstep/store/study_outlook.h"

namespace {

using namespace lockstep;

record::RunStarted started(int workers, std::int64_t batch, int epochs) {
  record::RunStarted event;
  event.spec.recipe = "fashion";
  event.spec.data = {"made-up", "synthetic", true, 6400, 1000};
  event.spec.workers = workers;
  event.spec.batch_per_worker = batch;
  event.spec.epochs = epochs;
  event.spec.parameters = 61'706;
  event.spec.strategy = record::Strategy::kBlocking;  // bandwidths follow from no other
  event.machine.host = "test";
  event.machine.cpu = "made-up processor";
  event.machine.cores = 2;
  event.build.version = "test";
  event.started_wall_ns = 1'700'000'000'000'000'000;
  event.steps_per_epoch = 6400 / (workers * batch);
  return event;
}

record::EpochResult epoch(int number, int workers, std::int64_t batch) {
  record::EpochResult result;
  result.epoch = number;
  result.train_s = 4.0 / std::pow(workers, 0.8) + 8.0 / static_cast<double>(batch);
  result.train_loss = 1.0 / number;
  result.train_accuracy = 0.9 - 0.3 / number;
  result.val_loss = 1.1 / number;
  result.val_accuracy = 0.88 - 0.3 / number;
  result.examples = 6400;
  result.val_s = 0.1;
  result.examples_per_s = 6400 / result.train_s;
  return result;
}

record::StepTimes step(std::int64_t number, int rank, int workers) {
  record::StepTimes times;
  times.step = number;
  times.rank = rank;
  times.epoch = 1;
  times.examples = 32;
  times.start_ns = 1'000'000'000 + number * 12'000'000;
  const double slow = number % 97 == 50 ? 0.02 : 0;
  times[record::Phase::kForward] = 0.003 + 0.001 * rank;
  times[record::Phase::kBackward] = 0.006 + slow;
  times[record::Phase::kWait] = workers > 1 ? 0.001 * (1 - rank) : 0;
  times[record::Phase::kTransfer] = workers > 1 ? 0.0005 : 0;
  times[record::Phase::kOptimizer] = 0.0004;
  for (const double seconds : times.phase_s) times.total_s += seconds;
  times.ready_ns = times.start_ns + static_cast<std::int64_t>((0.009 + 0.001 * rank) * 1e9);
  return times;
}

void write_run(const std::string& path, const std::string& study, int workers, std::int64_t batch,
               int repeat, std::int64_t steps) {
  store::RunWriter writer(path, {study, "workers=" + std::to_string(workers), repeat});
  writer.write(started(workers, batch, 6));
  record::StepBlock block;
  for (std::int64_t s = 0; s < steps; ++s) {
    for (int rank = 0; rank < workers; ++rank) block.steps.push_back(step(s, rank, workers));
    if (block.steps.size() < 4096 && s + 1 < steps) continue;
    writer.write(block);
    block.steps.clear();
  }
  for (int number = 1; number <= 6; ++number) {
    record::EpochResult result = epoch(number, workers, batch);
    result.train_s *= 1 + 0.01 * repeat;
    result.examples_per_s = 6400 / result.train_s;
    writer.write(result);
  }
  writer.write(record::RunEnded{record::RunStatus::kDone, 1'700'000'100'000'000'000, 30,
                                100'000'000 + 1'000'000 * batch, "digest"});
  collect::keep_digest(path, writer.run_id());  // as lockstep train does at the end of a run
}

void write_finished(const std::string& path, const std::string& study, int runs,
                    std::int64_t steps) {
  for (int i = 0; i < runs; ++i) {
    const int workers = 1 + i % 2;
    const std::int64_t batch = 32LL << (i / 2 % 3);
    write_run(path, study, workers, batch, i / 6, steps);
  }
}

void play_live(const std::string& path, const std::string& study) {
  store::keep_study_outlook(path, {study, 1, false, {}, {}});
  store::RunWriter writer(path, {study, "workers=2", 1});
  writer.write(started(2, 32, 2));
  std::string line;
  for (int i = 1; i <= 20 && std::getline(std::cin, line); ++i) {
    const int at = (i - 1) / 10 + 1;
    writer.write(record::Progress{at, 10 * ((i - 1) % 10 + 1), 100, 5000.0 + i, 2.0 / i});
    if (i % 10 == 0) writer.write(epoch(at, 2, 32));
    std::cout << i << std::endl;
  }
  writer.write(record::RunEnded{record::RunStatus::kDone, 1'700'000'100'000'000'000, 30, 0, ""});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  if (what == "finished" && argc == 6) {
    write_finished(argv[2], argv[3], std::atoi(argv[4]), std::atoll(argv[5]));
  } else if (what == "live" && argc == 4) {
    play_live(argv[2], argv[3]);
  } else {
    std::cerr << "usage: runs_writer finished STORE STUDY RUNS STEPS | live STORE STUDY\n";
    return 2;
  }
  return 0;
}
