#include "lockstep/simulate/settings.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep::simulate {
namespace {

const Settings kStated{{"compute", "120ms"}, {"gradients", "100MB"}};

Settings with(Settings settings, const std::string& name, const std::string& value) {
  settings[name] = value;
  return settings;
}

TEST(Settings, AStatedStepIsEnough) {
  const Scenario scenario = make_scenario(kStated, {});
  EXPECT_NEAR(scenario.shape.backward_s, 0.08, 1e-12);
  EXPECT_EQ(scenario.shape.buckets.size(), 4u);
  EXPECT_TRUE(scenario.jitter.none());
  EXPECT_FALSE(scenario.algorithm);
}

TEST(Settings, ReplaceWhatTheRunMeasured) {
  StepSource source;
  source.shape.forward_s = 1;
  source.shape.backward_s = 1;
  source.gradient_bytes = 4e6;
  source.half_wire = true;
  const Scenario measured = make_scenario({}, source);
  EXPECT_EQ(measured.shape.backward_s, 1);
  EXPECT_EQ(measured.shape.gradient_bytes(), 2e6);
  const Scenario changed =
      make_scenario({{"compute", "4s"}, {"wire", "fp32"}, {"accumulate", "3"}}, source);
  EXPECT_EQ(changed.shape.backward_s, 2);
  EXPECT_EQ(changed.shape.gradient_bytes(), 4e6);
  EXPECT_EQ(changed.shape.accumulate, 3);
}

TEST(Settings, RefuseWhatMakesNoSense) {
  EXPECT_THROW(make_scenario({}, {}), Error);
  EXPECT_THROW(make_scenario({{"compute", "1s"}}, {}), Error);
  const std::pair<const char*, const char*> wrong[] = {
      {"compute", "fast"},    {"gradients", "-1"},        {"link", "0Gbit,2us"},
      {"link", "2us"},        {"topology", "ring"},       {"uplinks", "4"},
      {"background", "120%"}, {"algorithm", "magic"},     {"wire", "int8"},
      {"per-host", "0"},      {"per-host", "2.5"},        {"slow-rank", "0.5"},
      {"mixed", "25%"},       {"jitter", "lots"},         {"backward", "1h"},
      {"overlap", "maybe"},   {"hosts-per-switch", "x"},  {"compute", "120"},
      {"gradients", "100"},   {"mixed", "50%:0.5+60%:2"}, {"machines", "1"},
      {"compute", "inf"},     {"compute", "1e300s"},      {"compute", "1e-30s"},
      {"seed", "1.5"}};
  for (const auto& [name, value] : wrong) {
    EXPECT_THROW(make_scenario(with(kStated, name, value), {}), Error) << name << " " << value;
  }
}

// The limit of a step that exchanges nothing.
TEST(Settings, GradientsMayBeStatedAsZero) {
  for (const char* zero : {"0", "0MB", "0B"}) {
    const Scenario scenario = make_scenario(with(kStated, "gradients", zero), {});
    EXPECT_TRUE(scenario.shape.buckets.empty()) << zero;
  }
}

TEST(Settings, ATimeOfZeroIsRefusedAsSuch) {
  for (const char* zero : {"0", "0s", "0ms", "0.0ms"}) {
    try {
      make_scenario(with(kStated, "compute", zero), {});
      FAIL() << zero;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("is zero"), std::string::npos) << error.what();
    }
    EXPECT_EQ(parse_time_or_zero(zero, "--restart"), 0) << zero;
  }
  EXPECT_THROW(parse_time_or_zero("0MB", "--restart"), Error);
}

// A step of b = 32 would pass for one of b = 128, four times as fast.
TEST(Settings, AnotherBatchNeedsItsComputeTime) {
  StepSource source;
  source.shape.forward_s = 1;
  source.shape.batch_per_worker = 32;
  source.gradient_bytes = 4e6;
  EXPECT_NO_THROW(make_scenario({{"batch", "32"}}, source));
  EXPECT_THROW(make_scenario({{"batch", "128"}}, source), Error);
  EXPECT_NO_THROW(make_scenario({{"batch", "128"}, {"compute", "4s"}}, source));
  const Settings stated = with(kStated, "batch", "32");
  EXPECT_THROW(parse_sweep(stated, "batch=32,128"), Error);
  EXPECT_THROW(parse_variant(stated, "batch=128"), Error);
  EXPECT_NO_THROW(parse_variant(stated, "batch=128,compute=480ms"));
  EXPECT_NO_THROW(parse_variant(kStated, "batch=128"));
}

TEST(Settings, MoreMicroStepsEvenJitterOut) {
  StepSource source;
  source.shape.accumulate = 2;
  const Settings settings = with(kStated, "jitter", "8%");
  EXPECT_NEAR(make_scenario(settings, source).jitter.deviation(), 0.08, 1e-12);
  EXPECT_NEAR(make_scenario(with(settings, "accumulate", "8"), source).jitter.deviation(), 0.04,
              1e-12);
}

TEST(Settings, CountsAreListedOrDoubled) {
  EXPECT_EQ(parse_counts("8..64"), (std::vector<std::int64_t>{8, 16, 32, 64}));
  EXPECT_EQ(parse_counts("3..20"), (std::vector<std::int64_t>{3, 6, 12, 20}));
  EXPECT_EQ(parse_counts("4,1,4"), (std::vector<std::int64_t>{1, 4}));
  for (const char* text : {"", "0", "8..4", "a", "1,,2", "9999999999"}) {
    EXPECT_THROW(parse_counts(text), Error) << text;
  }
}

TEST(Settings, VariantsChangeTheBase) {
  const Variant variant = parse_variant(kStated, "algorithm=tree,link=100Gbit,5us,wire=fp16");
  EXPECT_EQ(variant.settings.at("algorithm"), "tree");
  EXPECT_EQ(variant.settings.at("link"), "100Gbit,5us");
  EXPECT_EQ(variant.settings.at("wire"), "fp16");
  EXPECT_EQ(variant.settings.at("compute"), "120ms");
  EXPECT_THROW(parse_variant(kStated, "colour=red"), Error);
  EXPECT_THROW(parse_variant(kStated, "tree"), Error);
}

TEST(Settings, SweepsDoubleBetweenTheirEnds) {
  const auto variants = parse_sweep(with(kStated, "link", "10Gbit,7us"), "link=10..60Gbit");
  ASSERT_EQ(variants.size(), 4u);
  EXPECT_EQ(variants[3].name, "link=60Gbit");
  const Scenario scenario = make_scenario(variants[3].settings, {});
  EXPECT_NEAR(scenario.cluster.link.bytes_per_s, 7.5e9, 1);
  EXPECT_NEAR(scenario.cluster.link.latency_s, 7e-6, 1e-12);
  EXPECT_EQ(parse_sweep(kStated, "bucket=1MB,25MB").size(), 2u);
  EXPECT_THROW(parse_sweep(kStated, "link=400..10Gbit"), Error);
  EXPECT_THROW(parse_sweep(kStated, "links=1"), Error);
  EXPECT_THROW(parse_sweep(kStated, "link="), Error);
  EXPECT_THROW(parse_sweep(kStated, "bucket=1MB,,25MB"), Error);
}

}  // namespace
}  // namespace lockstep::simulate
