#include "lockstep/import/scan/text_scan.h"

#include <gtest/gtest.h>

#include <charconv>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "lockstep/base/rng.h"
#include "lockstep/import/model/metric_names.h"
#include "lockstep/import/model/name_facts.h"
#include "lockstep/import/scan/contains_any.h"
#include "lockstep/import/scan/figure_scan.h"
#include "lockstep/import/scan/rank_prefix.h"

namespace lockstep::import {
namespace {

TEST(TextScan, ReadsNumbersAsTheyStandInLogs) {
  EXPECT_EQ(parse_number("1,234,567.5"), 1234567.5);
  EXPECT_EQ(parse_number("-1.5e-3"), -1.5e-3);
  EXPECT_EQ(parse_number("+7"), 7);
  EXPECT_EQ(parse_number("1."), 1);
  EXPECT_EQ(parse_number(".5"), 0.5);
  EXPECT_TRUE(std::isnan(*parse_number("nan")));
  EXPECT_FALSE(parse_number("info"));
  EXPECT_FALSE(parse_number("12,34"));
  EXPECT_FALSE(parse_number(""));
  EXPECT_FALSE(parse_number("-"));
  EXPECT_EQ(parse_integer("42"), 42);
  EXPECT_FALSE(parse_integer("4.2"));
}

TEST(TextScan, NumbersAreTheNearestDoubles) {
  Rng rng(7);
  for (int i = 0; i < 20000; ++i) {
    char text[64];
    const double value =
        (rng.uniform() - 0.5) * std::pow(10, static_cast<int>(rng.uniform() * 40) - 20);
    std::snprintf(text, sizeof(text), "%.*e", static_cast<int>(rng.uniform() * 18), value);
    EXPECT_EQ(*parse_number(text), std::strtod(text, nullptr)) << text;
  }
}

TEST(TextScan, FindsWhatStringFindFinds) {
  Rng rng(3);
  for (int i = 0; i < 20000; ++i) {
    std::string text(static_cast<std::size_t>(rng.uniform() * 80), ' ');
    for (char& c : text) c = static_cast<char>('a' + static_cast<int>(rng.uniform() * 3));
    std::string part(1 + static_cast<std::size_t>(rng.uniform() * 4), ' ');
    for (char& c : part) c = static_cast<char>('a' + static_cast<int>(rng.uniform() * 3));
    EXPECT_EQ(position_of(part, text), text.find(part)) << part << " in " << text;
  }
}

TEST(TextScan, ReadsWallTimes) {
  EXPECT_EQ(parse_wall_time("1970-01-02 00:00:01,500"), 86401'500'000'000);
  EXPECT_EQ(parse_wall_time("1970-01-02T02:00:01+02:00"), 86401'000'000'000);
  EXPECT_FALSE(parse_wall_time("1970-13-02T02:00:01"));
}

TEST(TextScan, NumbersOfAnyLengthAreReadAsTheStandardLibraryReadsThem) {
  std::uint64_t state = 88172645463325252u;
  const auto next = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  for (int i = 0; i < 200'000; ++i) {
    std::string text = std::to_string(next() % (1 + next() % 1'000'000));
    const std::size_t decimals = next() % 22;
    if (decimals > 0) text += '.';
    while (text.size() < decimals + 2) text += static_cast<char>('0' + next() % 10);
    if (next() % 4 == 0) text += "e-" + std::to_string(next() % 12);
    double expected = 0;
    std::from_chars(text.data(), text.data() + text.size(), expected);
    ASSERT_EQ(parse_number(text), expected) << text;
  }
}

TEST(TextScan, AnyOfSeveralPartsIsFoundWhereverItStands) {
  const auto any = [](const std::string& text) {
    return contains_any<"acc", "/s", "throughput">(text);
  };
  for (std::size_t before = 0; before < 40; ++before) {
    for (const char* part : {"acc", "/s", "throughput"}) {
      EXPECT_TRUE(any(std::string(before, 'a') + part));
      EXPECT_TRUE(any(std::string(before, 't') + part + std::string(40 - before, '/')));
    }
    EXPECT_FALSE(any(std::string(before, 'a') + "throughpu"));
  }
}

TEST(FigureScan, FindsNamedNumbers) {
  std::string found;
  for_each_figure(
      "[Epoch] train loss 0.5, acc: 91.5% | lr=1e-3, 12.5 img/s step 3/16 conv2 time 7 s",
      [&](const Figure& f) {
        found += std::string(f.name) + "=" + std::to_string(f.value) + (f.percent ? "%" : "") +
                 std::string(f.unit) + ";";
      });
  EXPECT_EQ(found,
            "train loss=0.500000;acc=91.500000%;lr=0.001000;=12.500000img/s;conv2 time=7.000000s;");
}

TEST(FigureScan, WordAfterANumberIsItsUnitOnlyIfItIsOne) {
  std::string found;
  for_each_figure("loss 0.9 val acc 0.5 (10.1 s)", [&](const Figure& f) {
    found += std::string(f.name) + "=" + std::to_string(f.value) + std::string(f.unit) + ";";
  });
  EXPECT_EQ(found, "loss=0.900000;val acc=0.500000;=10.100000s;");
}

TEST(MetricNames, AreReadInTheirManyForms) {
  for (const char* name : {"val_acc", "valid/accuracy", "eval_accuracy", "test acc", "val/top1",
                           "Validation Accuracy", "val_categorical_accuracy", "dev.acc"}) {
    EXPECT_EQ(metric_of(name).metric, Metric::kValAccuracy) << name;
  }
  for (const char* name :
       {"loss", "train_loss", "train/loss", "train_loss_epoch", "Average loss", "lm loss"}) {
    EXPECT_EQ(metric_of(name).metric, Metric::kTrainLoss) << name;
  }
  for (const char* name : {"lr", "lr-AdamW", "learning_rate", "train/learning_rate"}) {
    EXPECT_EQ(metric_of(name).metric, Metric::kLearningRate) << name;
  }
  for (const char* name : {"loss_G", "reward", "val_acc5", "grad_norm", "Acc@5"}) {
    const Metric metric = metric_of(name).metric;
    EXPECT_TRUE(metric == Metric::kOther || std::string(name) == "val_acc5") << name;
  }
  EXPECT_EQ(metric_of("step_time_ms").scale, 1e-3);
  EXPECT_LT(metric_of("val_loss").rank, metric_of("test_loss").rank);
}

TEST(NameFacts, ReadsWorkersNodesAndBatch) {
  const struct {
    const char* name;
    std::int64_t workers;
    std::int64_t nodes;
    std::int64_t batch;
  } kNames[] = {{"exp_4g.log", 4, 0, 0},       {"resnet_8gpus_b256.txt", 8, 0, 256},
                {"run-n2.out", 2, 0, 0},       {"megatron-16nodes.out", 0, 16, 0},
                {"2x4gpu.log", 8, 2, 0},       {"all_reduce-16xH100.txt", 16, 0, 0},
                {"rank-0.json", 0, 0, 0},      {"resnet50.gpu_1.128.real", 1, 0, 0},
                {"2nodes_8gpus.log", 0, 2, 0}, {"logs/4gpu/train.log", 4, 0, 0},
                {"train.log", 0, 0, 0},        {"bs32_workers4.csv", 0, 0, 32},
                {"gpu0.log", 0, 0, 0},         {"worker3.log", 0, 0, 0}};
  for (const auto& expected : kNames) {
    ImportedRun run;
    facts_from_name(expected.name, run);
    EXPECT_EQ(run.workers.value.value_or(0), expected.workers) << expected.name;
    EXPECT_EQ(run.nodes.value.value_or(0), expected.nodes) << expected.name;
    EXPECT_EQ(run.batch_per_worker.value.value_or(0), expected.batch) << expected.name;
  }
}

TEST(RankPrefix, OfEveryLauncher) {
  EXPECT_EQ(split_rank("[1,12]<stdout>:hello", PrefixStyle::kTagged).rank, 12);
  EXPECT_EQ(split_rank("[1,12]<stdout>:hello", PrefixStyle::kTagged).text, "hello");
  EXPECT_EQ(split_rank("Mon Mar  9 10:20:30 2020[1,3]<stderr>: x", PrefixStyle::kTagged).rank, 3);
  EXPECT_EQ(split_rank("[default7]:x", PrefixStyle::kNamed).rank, 7);
  EXPECT_EQ(split_rank("[rank: 2] x", PrefixStyle::kNamed).rank, 2);
  EXPECT_EQ(split_rank(" 3: x", PrefixStyle::kNumber).rank, 3);
  EXPECT_EQ(split_rank("12:30:01 x", PrefixStyle::kNumber).rank, -1);
  EXPECT_EQ(prefix_style("plain\nlog\n"), PrefixStyle::kNone);
}

}  // namespace
}  // namespace lockstep::import
