#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "lockstep/import/importer.h"
#include "lockstep/import/scan/event_file.h"

namespace lockstep::import {

/// The names of the small files of every format under testdata.
inline const std::vector<std::string>& fixture_names() {
  static const std::vector<std::string> kNames{"deepspeed.log",
                                               "estimator.log",
                                               "examples_per_second.txt",
                                               "frames.txt",
                                               "history.jsonl",
                                               "horovod_2.log",
                                               "horovod_synthetic.log",
                                               "imagenet_ddp.log",
                                               "keras_bars.log",
                                               "keras_benchmark.log",
                                               "keras_epochs_4gpus.log",
                                               "kineto_rank1.json",
                                               "lightning.csv",
                                               "lightning_bars.log",
                                               "measurements.csv",
                                               "megatron.out",
                                               "mlperf_mll.txt",
                                               "mlperf_mllog.txt",
                                               "mlperf_v05.txt",
                                               "mnist_example.log",
                                               "nccl.txt",
                                               "sacct.txt",
                                               "sacct_columns.txt",
                                               "tf_cnn.txt",
                                               "timeline.json",
                                               "timm.log",
                                               "trainer_state.json",
                                               "trainer_stdout.log",
                                               "transcript_gan.log",
                                               "transcript_lists.log",
                                               "transcript_sections.log",
                                               "transcript_splits.log",
                                               "ultralytics_results.csv",
                                               "wandb_chart.csv",
                                               "wandb_runs.csv",
                                               "yolo_results.txt"};
  return kNames;
}

inline std::string fixture_text(const std::string& name) {
  std::ifstream in(std::string(LOCKSTEP_TESTDATA) + "/" + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// An event file of two epochs, as Lightning writes them.
inline std::string event_file_text() {
  std::ostringstream out;
  EventFileWriter writer(out, 1'700'000'000'000'000'000);
  writer.scalar("train_loss", 50, 0.5, 1'700'000'005'000'000'000);
  writer.scalar("epoch", 50, 0, 1'700'000'010'000'000'000);
  writer.scalar("val_accuracy", 50, 0.25, 1'700'000'010'000'000'000);
  writer.scalar("train_loss", 100, 0.25, 1'700'000'015'000'000'000);
  writer.scalar("val_accuracy", 100, 0.75, 1'700'000'022'000'000'000);
  writer.scalar("epoch", 100, 1, 1'700'000'022'000'000'000);
  return out.str();
}

inline ImportedFile import_text(const std::string& text, const std::string& name = "log.txt",
                                const ImportOptions& options = {}) {
  Input input(name, bytes_in_memory(text));
  return Importer(options).read(input);
}

inline ImportedFile import_fixture(const std::string& name, const ImportOptions& options = {}) {
  return import_text(fixture_text(name), name, options);
}

}  // namespace lockstep::import
