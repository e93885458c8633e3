#include "lockstep/predict/job_prediction.h"

#include <fmt/format.h>

namespace lockstep::predict {
namespace {

Estimate rate_of(const ScalingPrediction& p) {
  return {p.rate, p.low, p.high};
}

void add_throughput(JobPrediction& job, const TableSeries& table,
                    const std::optional<std::int64_t>& examples) {
  const auto count = static_cast<double>(examples.value_or(0));
  switch (table.metric) {
    case Metric::kThroughput:
      job.throughput = job.metric;
      break;
    case Metric::kStepTime: {
      const bool strong = table.scaling == Scaling::kStrong;
      const std::optional<double> batch = fixed_batch(table);
      if (!batch) {
        job.unknowns.push_back("throughput: the table has no batch for the step time");
        break;
      }
      const double per_step = *batch * (strong ? 1 : job.scaling.workers);
      job.throughput = mapped(job.metric, [&](double x) { return per_step / x; });
      break;
    }
    case Metric::kEpochTime:
      if (examples) job.throughput = mapped(job.metric, [&](double x) { return count / x; });
      break;
    case Metric::kTotalTime:
      break;
    case Metric::kOtherRate:
      job.unknowns.push_back("examples/s and epoch time: they do not follow from " + table.unit);
      return;
  }
  if (!examples && table.metric != Metric::kTotalTime) {
    job.unknowns.push_back(table.metric == Metric::kEpochTime
                               ? "throughput: the number of examples is not known"
                               : "epoch time: the number of examples is not known");
  }
}

FirstEpoch first_epoch_on(const std::string& device) {
  if (device.find("cpu") != std::string::npos) return FirstEpoch::kOnHost;
  return device.empty() ? FirstEpoch::kUnknown : FirstEpoch::kOnDevice;
}

void add_total(JobPrediction& job, const TableSeries& table, std::int64_t epochs) {
  job.epochs = epochs;
  TotalQuestion question;
  question.workers = job.scaling.workers;
  question.epochs = epochs;
  question.epoch_s = job.epoch_s;
  question.first_epoch_only = table.epochs == 1 && table.metric != Metric::kStepTime;
  question.where = first_epoch_on(table.device);
  question.overhead_grows = table.overhead_grows;
  std::vector<WholeRun> runs = table.whole_runs;
  if (table.metric == Metric::kTotalTime && table.epochs && !job.scaling.measured) {
    // A count that no run had: the predicted total stands for one.
    runs.push_back({job.scaling.workers, *table.epochs, job.metric.value});
  }
  const auto total = predict_total(runs, question);
  if (!total) return;
  job.total_s = total->seconds;
  job.total_measured =
      total->measured && (table.metric != Metric::kTotalTime || job.scaling.measured);
  job.total_derived = total->from_epochs && job.scaling.measured;
  if (!total->because.empty()) job.scaling.width.push_back(total->because);
  if (table.metric != Metric::kTotalTime || job.scaling.measured) return;
  // Both uncertainties: of the count, and of the epochs.
  const auto widen = [&](double bound, double of) { return bound / job.metric.value * of; };
  job.total_s->low = widen(job.metric.low, job.total_s->low);
  job.total_s->high = widen(job.metric.high, job.total_s->high);
}

/// Compute, input and the rest of a step stay what they were at the largest count, as the batch per
/// worker does; what is left of the predicted step is communication.
std::optional<StepParts> parts_of(const JobPrediction& job, const TableSeries& table) {
  if (table.phases.empty() || table.scaling != Scaling::kWeak || !table.batch_per_worker ||
      !job.throughput) {
    return std::nullopt;
  }
  const MeasuredPhases& last = table.phases.back();
  const double batch = *table.batch_per_worker * job.scaling.workers;
  StepParts parts;
  parts.step_s = mapped(*job.throughput, [&](double rate) { return batch / rate; });
  parts.compute_s = last.compute_s;
  parts.input_wait_s = last.input_wait_s;
  parts.other_s = last.other_s;
  const double own = last.compute_s + last.input_wait_s + last.other_s;
  parts.exposed_s = mapped(parts.step_s, [&](double s) { return s > own ? s - own : 0.0; });
  return parts;
}

/// Per worker, of a series in which both batches change: as asked, else as measured at that count,
/// else as at the last.
double batch_at(const TableSeries& table, const JobQuestion& question) {
  if (question.batch > 0) return question.batch;
  double batch = 0;
  for (const ScalingPoint& point : table.series.points) {
    if (point.workers <= question.workers || batch == 0) batch = point.batch;
  }
  return batch > 0 ? batch : 1;
}

ScalingPrediction given(const TableSeries& table, double workers, const Estimate& rate) {
  ScalingPrediction result;
  result.workers = workers;
  result.rate = rate.value;
  result.low = rate.low;
  result.high = rate.high;
  const ScalingPoint& first = table.series.points.front();
  result.efficiency = result.rate / first.rate * first.workers / workers;
  return result;
}

/// With what the phases of a single count show about one worker.
ScalingPrediction scaling_of(const TableSeries& table, const JobQuestion& question,
                             const Prior& prior) {
  if (question.rate) return given(table, question.workers, *question.rate);
  const ScalingPoint target{question.workers, 0, question.nodes, question.batch};
  const auto two = with_one_worker(table);
  if (!two || question.workers <= two->points.back().workers) {
    return predict_rate(table.series, target, prior);
  }
  ScalingPrediction prediction = predict_rate(*two, target, prior);
  prediction.width.insert(prediction.width.begin(), phases_reason(table));
  return prediction;
}

}  // namespace

JobPrediction predict_job(const TableSeries& table, const JobQuestion& question,
                          const Prior& prior) {
  JobPrediction job;
  const auto examples = question.examples ? question.examples : table.examples;
  job.scaling = scaling_of(table, question, prior);
  if (question.traffic) apply_traffic(job.scaling, table, *question.traffic, examples);
  if (table.derived && job.scaling.measured) {
    job.derived = true;
    job.scaling.width = {"derived from other batches; the interval shows how well those agree"};
  }
  const Estimate rate = rate_of(job.scaling);
  const double batch = batch_at(table, question);
  job.metric = mapped(rate, [&](double r) {
    return value_of(table.metric, table.scaling, question.workers, r, batch);
  });
  const ScalingPoint& first = table.series.points.front();
  job.baseline_workers = first.workers;
  job.speedup = mapped(rate, [&](double r) { return r / first.rate; });
  job.efficiency =
      mapped(*job.speedup, [&](double s) { return s * first.workers / question.workers; });
  const auto epochs = question.epochs ? question.epochs : table.epochs;
  add_throughput(job, table, examples);
  if (epoch_seconds(table, question.workers, rate.value, examples)) {
    job.epoch_s = mapped(
        rate, [&](double r) { return *epoch_seconds(table, question.workers, r, examples); });
  }
  if (epochs) add_total(job, table, *epochs);
  if (!epochs && table.metric == Metric::kTotalTime) {
    job.total_s = job.metric;
    job.total_measured = job.scaling.measured;
  }
  job.parts = parts_of(job, table);
  if (table.scaling == Scaling::kMixed && question.batch == 0 && !job.scaling.measured) {
    job.unknowns.push_back(
        "the batch per worker at counts that were not run: that of the largest measured count is "
        "assumed; state it with --batch");
  }
  if (first.workers > 1) {
    job.unknowns.push_back(fmt::format(
        "speedup against one worker: the smallest measured count is {:g}", first.workers));
  }
  return job;
}

}  // namespace lockstep::predict
