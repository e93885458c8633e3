#include "lockstep/import/model/metric_names.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {
namespace {

/// Lower-case words of a name: cut at blanks, punctuation and from lower to upper case.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  const auto flush = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  char previous = 0;
  for (char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool word_char = is_letter(c) || is_digit(c) || c == '@';
    if (!word_char || (upper && previous >= 'a' && previous <= 'z')) flush();
    if (word_char) word += upper ? static_cast<char>(c - 'A' + 'a') : c;
    previous = c;
  }
  flush();
  return words;
}

class Words {
 public:
  explicit Words(std::string_view name) : words_(words_of(name)) {}

  bool has(std::string_view word) const {
    return std::find(words_.begin(), words_.end(), word) != words_.end();
  }
  template <class... W>
  bool any(W... words) const {
    return (has(words) || ...);
  }
  bool any_but(std::initializer_list<std::string_view> known) const {
    return std::any_of(words_.begin(), words_.end(), [&](const std::string& word) {
      return std::find(known.begin(), known.end(), word) == known.end();
    });
  }
  bool empty() const { return words_.empty(); }
  std::size_t size() const { return words_.size(); }
  /// How many of the words stand further in front as well.
  std::size_t repeated() const {
    std::size_t count = 0;
    for (std::size_t i = 1; i < words_.size(); ++i) {
      const auto here = words_.begin() + static_cast<std::ptrdiff_t>(i);
      count += std::find(words_.begin(), here, words_[i]) != here ? 1 : 0;
    }
    return count;
  }
  const std::string& front() const { return words_.front(); }
  const std::string& back() const { return words_.back(); }

 private:
  std::vector<std::string> words_;
};

/// "max_step_time", "throughput_std", "p99 latency": an end or the width of many values. A last
/// word "min" may be the unit of an epoch's time.
bool is_extreme(const Words& words) {
  return words.any("max", "maximum", "minimum", "std", "stdev", "stddev", "var", "variance", "p90",
                   "p95", "p99", "worst", "slowest", "fastest", "peak") ||
         (words.has("min") && words.back() != "min");
}

double time_scale(const Words& words) {
  if (words.any("ms", "milliseconds", "msec")) return 1e-3;
  if (words.any("us", "microseconds")) return 1e-6;
  if (words.any("min", "minutes")) return 60;
  if (words.any("hours")) return 3600;
  return 1;
}

bool is_rate(const Words& words) {
  const bool per_second = words.any("sec", "second", "s") && words.size() > 1;
  // "throughput/tok_per_s", "throughput_mb_s": a rate of something else.
  if (words.any("tok", "toks", "token", "tokens", "word", "words", "ms", "us", "kb", "mb", "mib",
                "gb", "gib", "bytes", "bits", "flops", "gflops", "tflops", "it", "its", "iter",
                "iters", "iterations", "steps", "batches", "requests", "tps"))
    return false;
  const bool things = words.any("img", "imgs", "image", "images", "sample", "samples", "example",
                                "examples", "ex", "sequences", "seq");
  return words.any("throughput", "ips", "fps") || (per_second && things) ||
         words.any("samplespersec", "imgpersec");
}

/// "decode.acc_seg", "acc_pose", "adv_acc": an accuracy of something else than the classes. Only
/// names without blanks are judged: in prose any word may stand before "accuracy".
bool is_of_something_else(std::string_view name, const Words& words) {
  if (name.find(' ') != std::string_view::npos) return false;
  return words.any_but({"acc",
                        "accuracy",
                        "acc@1",
                        "prec@1",
                        "precision@1",
                        "top1",
                        "acc1",
                        "prec1",
                        "top",
                        "1",
                        "train",
                        "training",
                        "val",
                        "valid",
                        "validation",
                        "dev",
                        "eval",
                        "evaluation",
                        "test",
                        "testing",
                        "epoch",
                        "step",
                        "avg",
                        "average",
                        "mean",
                        "final",
                        "total",
                        "overall",
                        "running",
                        "batch",
                        "metric",
                        "metrics",
                        "categorical",
                        "sparse",
                        "binary",
                        "score",
                        "classification",
                        "model",
                        "last",
                        "dataloader",
                        "idx",
                        "0",
                        "multiclass",
                        "best",
                        "class"});
}

bool is_accuracy(const Words& words) {
  if (words.any("top5", "acc@5", "prec@5", "acc5")) return false;
  return words.any("acc", "accuracy", "acc@1", "prec@1", "precision@1", "top1", "acc1", "prec1");
}

}  // namespace

bool names_extreme(std::string_view name) {
  if (!contains_any<"max", "min", "std", "var", "p9", "worst", "slow", "fast", "peak">(name))
    return false;
  return is_extreme(Words(name));
}

MetricName metric_of(std::string_view name) {
  if (name.size() > 128) return {};
  const Words words(name);
  if (words.empty()) return {};
  int split_rank = -1;  // of a validation figure
  if (words.any("val", "valid", "validation", "dev")) {
    split_rank = 0;
  } else if (words.any("eval", "evaluation")) {
    split_rank = 1;
  } else if (words.any("test", "testing")) {
    split_rank = 2;
  }
  const bool validation = split_rank >= 0;
  const bool train = words.any("train", "training");
  if (words.any("lr", "learningrate") || (words.has("learning") && words.has("rate"))) {
    return {Metric::kLearningRate};
  }
  if (is_rate(words) && !validation) {
    if (is_extreme(words)) return {};
    const bool one = words.has("per") && words.any("gpu", "rank", "worker", "device");
    return {one ? Metric::kThroughputPerWorker : Metric::kThroughput};
  }
  if (words.any("time", "times", "timing", "timings", "duration", "runtime", "seconds",
                "elapsed") &&
      !validation) {
    const double scale = time_scale(words);
    if (is_extreme(words)) return {};
    // Ray's "time_this_iter_s" is the time between two reports, of epochs most of the time.
    if (words.has("this")) return {};
    if (words.has("epoch")) return {Metric::kEpochTime, 0, scale};
    const bool shortest = words.has("min");  // no step takes minutes
    if (words.any("step", "iter", "iteration", "batch") && !shortest)
      return {Metric::kStepTime, 0, scale};
    return {};
  }
  if (is_accuracy(words)) {
    if (is_of_something_else(name, words)) return {};
    const int vague = words.size() > (validation || train ? 2u : 1u) ? 1 : 0;
    if (validation) return {Metric::kValAccuracy, split_rank * 2 + vague};
    return {Metric::kTrainAccuracy, (train ? 0 : 2) + vague};
  }
  if (words.has("loss")) {
    // "loss_D" and "loss_G" are two losses of one network: neither is the training loss.
    const std::size_t plain = 1 + (validation || train ? 1 : 0) +
                              (words.any("avg", "average", "mean", "epoch", "step", "total", "lm",
                                         "minibatch", "batch", "final")
                                   ? 1
                                   : 0);
    // "train/final_train_loss" has one word twice.
    if (words.size() - words.repeated() > plain) return {};
    const int vague = words.any("step", "total") ? 1 : 0;
    if (validation) return {Metric::kValLoss, split_rank * 2 + vague};
    return {Metric::kTrainLoss, (train ? 0 : 2) + vague};
  }
  if (words.size() == 1 && words.front() == "epoch") return {Metric::kEpoch};
  if (words.size() <= 2 && words.any("step", "iteration", "iter") &&
      (words.size() == 1 || words.has("global"))) {
    return {Metric::kStep};
  }
  return {};
}

bool set_quality(Metric metric, double value, record::EpochResult& result) {
  switch (metric) {
    case Metric::kTrainLoss:
      result.train_loss = value;
      return true;
    case Metric::kTrainAccuracy:
      result.train_accuracy = value;
      return true;
    case Metric::kValLoss:
      result.val_loss = value;
      return true;
    case Metric::kValAccuracy:
      result.val_accuracy = value;
      return true;
    default:
      return false;
  }
}

MetricName MetricCache::of(std::string_view name) {
  constexpr std::size_t kMost = 1024;
  if (name.empty()) return metric_of(name);
  const std::size_t letters = name.size() + static_cast<unsigned char>(name.front()) * 7u +
                              static_cast<unsigned char>(name.back()) * 13u;
  Recent& recent = recent_[letters % recent_.size()];
  if (recent.name == name) return recent.metric;
  auto found = known_.find(name);
  if (found == known_.end()) {
    if (known_.size() >= kMost) known_.clear();
    found = known_.emplace(name, metric_of(name)).first;
  }
  recent = {std::string(name), found->second};
  return recent.metric;
}

}  // namespace lockstep::import
