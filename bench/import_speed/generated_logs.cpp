#include "generated_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace lockstep::bench {
namespace {

/// Numbers that change from line to line.
double vary(std::uint64_t seed) {
  return static_cast<double>((seed * 2654435761u) % 10000) / 10000;
}

std::string imagenet(std::uint64_t number) {
  std::string text;
  for (std::uint64_t i = 0; i < 100; ++i) {
    text += fmt::format(
        "Epoch: [{}][{:5d}/10010]\tTime  {:.3f} ( 0.391)\tData  0.000 ( 0.029)\tLoss {:.4e} "
        "(7.0556e+00)"
        "\tAcc@1   0.78 (  0.12)\tAcc@5   0.78 (  0.58)\n",
        number / 10, (number % 10) * 1000 + i * 10, 0.3 + vary(i + number), vary(i) * 7);
  }
  return text;
}

std::string keras_bars(std::uint64_t number) {
  std::string text = fmt::format("Epoch {}/900000\n", number + 1);
  for (std::uint64_t i = 1; i < 391; i += 2) {
    text += fmt::format(
        "\r{:3d}/391 [=========>....................] - ETA: 12s - loss: {:.4f} - accuracy: 0.4517",
        i, vary(i + number));
  }
  return text +
         "\r391/391 [==============================] - 12s 31ms/step - loss: 0.5 - accuracy: 0.5 - "
         "val_loss: 0.6\n";
}

std::string horovod(std::uint64_t number) {
  std::string text;
  for (int rank = 0; rank < 4; ++rank) {
    text += fmt::format("[1,{}]<stdout>:[Epoch {}] per-rank={:.1f} img/s | global=15141.1 img/s\n",
                        rank, number + 1, 3000 + 100 * vary(number));
    for (int i = 0; i < 10; ++i) {
      text += fmt::format(
          "[1,{}]<stderr>:2019-11-13 12:46:18.810798: I "
          "tensorflow/core/platform/cpu_feature_guard.cc:141] "
          "Your CPU supports instructions\n",
          rank);
    }
  }
  return text;
}

/// What a script prints itself: an epoch, its steps, its time and its validation.
std::string free_text(std::uint64_t number) {
  std::string text = fmt::format("Epoch [{}/90000]\n", number + 1);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    text += fmt::format("Epoch [{}/90000], Step [{}/5005], Loss: {:.4f}, lr: 0.0125\n", number + 1,
                        i * 50, vary(i + number) * 7);
  }
  return text + fmt::format(
                    "Training time: {:.2f} s, train loss: {:.4f}\nValidation loss: {:.4f}, "
                    "accuracy: 51.20%\n",
                    30 + vary(number), vary(number), vary(number + 1));
}

std::string nanogpt(std::uint64_t number) {
  std::string text;
  for (std::uint64_t i = 0; i < 100; ++i) {
    text += fmt::format("iter {}: loss {:.4f}, time {:.2f}ms, mfu 41.35%\n", number * 100 + i,
                        vary(i + number) * 7, 250 + vary(i));
  }
  return text;
}

std::string megatron(std::uint64_t number) {
  std::string text;
  for (std::uint64_t i = 1; i <= 50; ++i) {
    text += fmt::format(
        " iteration {:8d}/ 9000000 | consumed samples:       124928 | elapsed time per iteration "
        "(ms): "
        "{:.1f} | learning rate: 9.150E-06 | global batch size:  1024 | lm loss: 2.504220E+00 | "
        "loss scale: 1.0 | grad norm: 0.231 | number of nan iterations:   0 |\n",
        number * 50 + i, 86000 + 1000 * vary(i + number));
  }
  return text;
}

std::string tf_cnn(std::uint64_t number) {
  std::string text;
  for (std::uint64_t i = 0; i < 100; ++i) {
    text += fmt::format("{}\timages/sec: {:.1f} +/- 3.7 (jitter = 12.2)\t7.743 1609471622\n",
                        number * 1000 + i * 10, 4300 + vary(i + number));
  }
  return text;
}

std::string mlperf(std::uint64_t number) {
  std::string text;
  for (std::uint64_t i = 0; i < 50; ++i) {
    text += fmt::format(
        ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"POINT_IN_TIME\", "
        "\"key\": "
        "\"eval_accuracy\", \"value\": {:.4f}, \"metadata\": {{\"file\": \"train.py\", \"lineno\": "
        "481, "
        "\"epoch_num\": {}}}}}\n",
        1592000000000 + number * 1000, vary(i + number), (number * 50 + i) % 90 + 1);
  }
  return text;
}

std::string lightning(std::uint64_t number) {
  std::string text = number == 0 ? "epoch,lr-AdamW,step,train_loss,val_acc,val_loss\n" : "";
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::uint64_t step = number * 200 + i;
    text += fmt::format(",0.0001,{},,,\n{},,{},{:.16f},,\n", step, step / 10000, step, vary(step));
  }
  return text;
}

std::string history(std::uint64_t number) {
  std::string text;
  for (std::uint64_t i = 0; i < 100; ++i) {
    text += fmt::format(
        "{{\"loss\": {:.16f}, \"acc\": 0.93, \"_runtime\": 493.7747001647949, \"_timestamp\": "
        "1582071407.024381, \"_step\": {}}}\n",
        vary(i + number), number * 100 + i);
  }
  return text;
}

std::string kineto(std::uint64_t number) {
  std::string text =
      number == 0
          ? "{\"schemaVersion\": 1, \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, "
            "\"world_size\": 8}, \"traceEvents\": [\n"
          : ",\n";
  const double start = 1682725898000000.0 + static_cast<double>(number) * 1000;
  text += fmt::format(
      "{{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#{}\", \"pid\": 1, "
      "\"tid\": 1, "
      "\"ts\": {:.3f}, \"dur\": 1000.0, \"args\": {{}}}}",
      number, start);
  for (int i = 0; i < 20; ++i) {
    text += fmt::format(
        ",\n{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"{}\", \"pid\": 0, \"tid\": 7, "
        "\"ts\": {:.3f}, "
        "\"dur\": 30.0, \"args\": {{\"External id\": 6935929, \"queued\": 0, \"device\": 0, "
        "\"context\": 1, "
        "\"stream\": 23, \"correlation\": 6935929, \"grid\": [2400, 1, 1], \"block\": [256, 1, "
        "1]}}}}",
        i % 5 == 0 ? "ncclDevKernel_AllReduce" : "void at::native::elementwise_kernel<128, 2>",
        start + i * 45.0);
  }
  return text;
}

class Generated final : public import::ByteSource {
 public:
  Generated(const GeneratedLog& log, std::uint64_t bytes)
      : log_(log), left_(static_cast<std::int64_t>(bytes)) {}

  std::size_t read(char* buffer, std::size_t size) override {
    if (used_ == block_.size()) {
      if (left_ <= 0) return 0;
      block_.clear();
      used_ = 0;
      while (block_.size() < (1u << 20)) block_ += log_.piece(pieces_++);
    }
    const std::size_t count = std::min(size, block_.size() - used_);
    std::memcpy(buffer, block_.data() + used_, count);
    used_ += count;
    left_ -= static_cast<std::int64_t>(count);
    return count;
  }

 private:
  GeneratedLog log_;
  std::int64_t left_;
  std::uint64_t pieces_ = 0;
  std::string block_;
  std::size_t used_ = 0;
};

}  // namespace

const std::vector<GeneratedLog>& generated_logs() {
  static const std::vector<GeneratedLog> kLogs{
      {"pytorch-imagenet", imagenet}, {"keras", keras_bars}, {"transcript", horovod},
      {"free text", free_text},       {"nanogpt", nanogpt},  {"megatron", megatron},
      {"tf-cnn-benchmarks", tf_cnn},  {"mlperf", mlperf},    {"lightning-csv", lightning},
      {"history-jsonl", history},     {"kineto", kineto}};
  return kLogs;
}

std::unique_ptr<import::ByteSource> generate(const GeneratedLog& log, std::uint64_t bytes) {
  return std::make_unique<Generated>(log, bytes);
}

}  // namespace lockstep::bench
