#include "lockstep/import/registry.h"

#include <fmt/format.h>

#include <string>

#include "lockstep/base/error.h"
#include "lockstep/import/readers/readers.h"

namespace lockstep::import {

Registry::Registry() {
  // Of two that are equally sure the first is taken: formats with a signature of their own before
  // those that fit many logs.
  readers_.push_back(make_notebook_reader(readers_));
  readers_.push_back(make_wandb_run_reader(readers_));
  readers_.push_back(make_tensorboard_reader());
  readers_.push_back(make_horovod_timeline_reader());
  readers_.push_back(make_kineto_reader());
  readers_.push_back(make_trainer_state_reader());
  readers_.push_back(make_measurements_reader());
  readers_.push_back(make_wandb_chart_reader());
  readers_.push_back(make_wandb_runs_reader());
  readers_.push_back(make_history_jsonl_reader());
  readers_.push_back(make_sacct_reader());
  readers_.push_back(make_lightning_csv_reader());
  readers_.push_back(make_result_json_reader());
  for (const LogFormat& format : step_log_formats())
    readers_.push_back(std::make_unique<LogReader>(format));
  for (const LogFormat& format :
       {mlperf_format(), nccl_tests_format(), time_history_format(), tf_cnn_benchmarks_format(),
        horovod_synthetic_format(), megatron_format(), trainer_stdout_format(), timm_format(),
        pytorch_imagenet_format(), examples_per_second_format(), keras_format(), nanogpt_format(),
        yolo_results_format(), estimator_format()}) {
    readers_.push_back(std::make_unique<LogReader>(format));
  }
  readers_.push_back(make_transcript_reader());
  readers_.push_back(make_frames_reader());
}

const Reader& Registry::named(std::string_view name) const {
  std::string names;
  for (const auto& reader : readers_) {
    if (reader->name() == name) return *reader;
    names += (names.empty() ? "" : ", ") + std::string(reader->name());
  }
  throw Error(ErrorKind::kUsage, fmt::format("unknown format '{}'", name),
              "choose one of " + names);
}

Recognition Registry::recognise(const Sample& sample) const {
  Recognition found;
  Match sure = Match::kNo;
  for (const auto& reader : readers_) {
    const Match match = reader->recognise(sample);
    if (match > sure) {
      found.reader = reader.get();
      sure = match;
    } else if (match == Match::kCertain) {
      found.others.push_back(reader.get());
    }
  }
  return found;
}

}  // namespace lockstep::import
