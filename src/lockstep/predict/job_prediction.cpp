#include "lockstep/predict/job_prediction.h"

#include <fmt/format.h>

namespace lockstep::predict {
namespace {

Estimate rate_of(const ScalingPrediction& p) {
  return {p.rate, p.low, p.high};
}

/// Fills in times and throughput as far as the metric, the examples and the epochs allow.
void add_times(JobPrediction& job, const TableSeries& table,
               const std::optional<std::int64_t>& epochs,
               const std::optional<std::int64_t>& examples) {
  const auto count = static_cast<double>(examples.value_or(0));
  switch (table.metric) {
    case Metric::kThroughput:
      job.throughput = job.metric;
      if (examples) job.epoch_s = mapped(job.metric, [&](double x) { return count / x; });
      break;
    case Metric::kStepTime: {
      const auto batch =
          table.scaling == Scaling::kStrong ? table.global_batch : table.batch_per_worker;
      if (!batch) {
        job.unknowns.push_back("throughput: the table gives no batch to go with the step time");
        break;
      }
      const double per_step = static_cast<double>(*batch) *
                              (table.scaling == Scaling::kStrong ? 1 : job.scaling.workers);
      job.throughput = mapped(job.metric, [&](double x) { return per_step / x; });
      if (examples)
        job.epoch_s = mapped(job.metric, [&](double x) { return x * count / per_step; });
      break;
    }
    case Metric::kEpochTime:
      job.epoch_s = job.metric;
      if (examples) job.throughput = mapped(job.metric, [&](double x) { return count / x; });
      break;
    case Metric::kTotalTime:
      job.total_s = job.metric;
      if (table.epochs && epochs && *epochs != *table.epochs) {
        const double ratio = static_cast<double>(*epochs) / static_cast<double>(*table.epochs);
        job.total_s = mapped(job.metric, [&](double x) { return x * ratio; });
        job.unknowns.push_back(
            "start-up time: only whole runs were measured, so it is scaled with the epochs");
      }
      break;
  }
  if (!job.total_s && job.epoch_s && epochs) {
    const auto n = static_cast<double>(*epochs);
    job.total_s = mapped(*job.epoch_s, [&](double x) { return x * n; });
  }
  if (!examples && table.metric != Metric::kTotalTime) {
    job.unknowns.push_back(table.metric == Metric::kEpochTime
                               ? "throughput: the number of examples is not known"
                               : "epoch time: the number of examples is not known");
  }
}

}  // namespace

JobPrediction predict_job(const TableSeries& table, const JobQuestion& question,
                          const Prior& prior) {
  JobPrediction job;
  job.scaling = predict_rate(table.series, {question.workers, 0, question.nodes}, prior);
  const Estimate rate = rate_of(job.scaling);
  job.metric = mapped(
      rate, [&](double r) { return value_of(table.metric, table.scaling, question.workers, r); });
  const ScalingPoint& first = table.series.points.front();
  job.baseline_workers = first.workers;
  job.speedup = mapped(rate, [&](double r) { return r / first.rate; });
  job.efficiency =
      mapped(*job.speedup, [&](double s) { return s * first.workers / question.workers; });
  add_times(job, table, question.epochs ? question.epochs : table.epochs,
            question.examples ? question.examples : table.examples);
  if (first.workers > 1) {
    job.unknowns.push_back(fmt::format(
        "speedup against one worker: the smallest measured count is {:g}", first.workers));
  }
  return job;
}

}  // namespace lockstep::predict
