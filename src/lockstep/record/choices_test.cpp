#include "lockstep/record/choices.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "lockstep/base/error.h"
#include "lockstep/record/run_spec.h"

namespace lockstep::record {
namespace {

template <class Enum>
class Choices : public ::testing::Test {};
using Enums =
    ::testing::Types<Strategy, Wire, ScheduleShape, RateScaling, Optimizer, Backend, Launcher>;
TYPED_TEST_SUITE(Choices, Enums);

TYPED_TEST(Choices, NamesAreDistinctAndLeadBackToTheirValue) {
  std::set<std::string_view> names;
  std::set<TypeParam> values;
  for (const auto& entry : ChoiceTable<TypeParam>::kEntries) {
    names.insert(entry.name);
    values.insert(entry.value);
    EXPECT_FALSE(entry.name.empty());
    EXPECT_EQ(name_of(entry.value), entry.name);
    EXPECT_EQ(choice_named<TypeParam>(entry.name), entry.value);
  }
  EXPECT_EQ(names.size(), std::size(ChoiceTable<TypeParam>::kEntries));
  EXPECT_EQ(values.size(), names.size());
  EXPECT_EQ(choice_named<TypeParam>("none of them"), std::nullopt);
}

TEST(Choices, UnknownNamesAreRefusedWithTheValidOnes) {
  try {
    parse_choice<Strategy>("--strategy", "ring");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_STREQ(error.what(), "--strategy 'ring' is unknown");
    EXPECT_EQ(error.hint(), "give one of overlap, blocking, central, local");
  }
}

TEST(Choices, WhatOnlyRecordsNameCannotBeAskedFor) {
  const auto offered = names_of<Backend>();
  EXPECT_EQ(offered,
            (std::vector<std::string>{"auto", "shm", "hierarchical", "gloo", "mpi", "nccl"}));
  EXPECT_THROW(parse_choice<Backend>("--backend", "tcp"), Error);
  EXPECT_EQ(recorded_choice<Backend>("tcp"), Backend::kTcp);
  EXPECT_EQ(recorded_choice<Backend>("none"), Backend::kNone);
}

TEST(Choices, FactsOfAnOptimizerAreFoundByItsValue) {
  for (const OptimizerFacts& facts : ChoiceTable<Optimizer>::kEntries) {
    EXPECT_EQ(facts_of(facts.value).name, facts.name);
    EXPECT_GT(facts.usual_rate, 0);
  }
  EXPECT_EQ(optimizer_names(true), "adam, adamw, lamb");
  EXPECT_EQ(optimizer_names(false), "sgd, lars");
  EXPECT_EQ(usual_rates(), "sgd 0.1, adam 0.001, adamw 0.001, lars 8, lamb 0.01");
}

TEST(Choices, RecordsKeepTheNamesThatOlderVersionsWrote) {
  const nlohmann::json old{{"strategy", "central"},     {"wire", "bf16"},
                           {"optimizer", "adamw"},      {"schedule", "plateau"},
                           {"lr_scale", "linear"},      {"backend", "tcp"},
                           {"launcher", "ssh-hostfile"}};
  const auto spec = old.get<RunSpec>();
  EXPECT_EQ(spec.strategy, Strategy::kCentral);
  EXPECT_EQ(spec.wire, Wire::kBrain);
  EXPECT_EQ(spec.optimizer, Optimizer::kAdamW);
  EXPECT_EQ(spec.schedule, ScheduleShape::kPlateau);
  EXPECT_EQ(spec.lr_scale, RateScaling::kLinear);
  EXPECT_EQ(spec.backend, Backend::kTcp);
  EXPECT_EQ(spec.launcher, Launcher::kSshHostfile);
  const nlohmann::json written = spec;
  for (const auto& [field, name] : old.items()) EXPECT_EQ(written.at(field), name);
}

TEST(Choices, AnAbsentChoiceIsAnEmptyNameInARecord) {
  RunSpec spec;
  spec.strategy = std::nullopt;
  const nlohmann::json written = spec;
  EXPECT_EQ(written.at("strategy"), "");
  EXPECT_EQ(written.at("optimizer"), "");
  EXPECT_EQ(written.get<RunSpec>().strategy, std::nullopt);
  EXPECT_EQ(written.get<RunSpec>().optimizer, std::nullopt);
}

TEST(Choices, ARecordWithAnUnknownNameIsRefused) {
  try {
    static_cast<void>(nlohmann::json{{"optimizer", "lion"}}.get<RunSpec>());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_STREQ(error.what(), "a record contains an unknown optimizer: 'lion'");
  }
}

}  // namespace
}  // namespace lockstep::record
