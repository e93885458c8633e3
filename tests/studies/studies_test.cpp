#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lockstep/analyze/audit/audit.h"
#include "lockstep/analyze/communication.h"
#include "lockstep/analyze/verdict/verdict.h"
#include "lockstep/import/measurements_table.h"
#include "lockstep/report/measurements_csv.h"
#include "lockstep/report/study_report.h"

namespace lockstep {
namespace {

using analyze::AuditOutcome;
using record::Measurement;

std::vector<Measurement> study(const std::string& name) {
  return import::read_measurements_file(LOCKSTEP_STUDIES "/" + name + ".csv").rows;
}

const char* const kA = "a-runtime-prediction";
const char* const kB = "b-multi-worker-classifiers";
const char* const kC = "c-data-parallel-resnet18";
const char* const kD = "d-steering-regression";
const char* const kE = "e-data-parallel-sweep";

/// Table of the report whose title begins so, as JSON.
nlohmann::json table(const std::string& name, const std::string& title) {
  const auto report = report::study_report(study(name));
  for (const report::Table& entry : report.tables) {
    if (entry.title.starts_with(title)) {
      return nlohmann::json::parse(report::render(entry, report::Format::kJson));
    }
  }
  ADD_FAILURE() << "no table " << title;
  return {};
}

/// Value of a column in the row of this worker count and global batch.
double cell(const nlohmann::json& table, int workers, int global_batch, const char* key) {
  for (const auto& row : table["rows"]) {
    if (row["workers"] == workers && row["global_batch"] == global_batch) {
      return row[key].get<double>();
    }
  }
  ADD_FAILURE() << "no row for " << workers << " workers, B = " << global_batch;
  return 0;
}

bool says(const std::string& name, analyze::Topic topic, const std::string& text) {
  const auto report = report::study_report(study(name));
  return std::any_of(
      report.verdict.begin(), report.verdict.end(), [&](const analyze::Finding& finding) {
        return finding.topic == topic && finding.sentence.find(text) != std::string::npos;
      });
}

TEST(Studies, SpeedupsOfStudyCFollowFromItsTimes) {
  const auto times = table(kC, "Time and speedup: resnet18-cifar on cifar10; strong scaling");
  EXPECT_EQ(times["rows"].size(), 9u);
  EXPECT_NEAR(cell(times, 2, 32, "speedup"), 1.229, 5e-4);
  EXPECT_NEAR(cell(times, 4, 32, "speedup"), 1.688, 5e-4);
  EXPECT_NEAR(cell(times, 2, 128, "speedup"), 1.714, 5e-4);
  EXPECT_NEAR(cell(times, 4, 128, "speedup"), 2.217, 5e-4);
  EXPECT_NEAR(cell(times, 2, 512, "speedup"), 1.839, 5e-4);
  EXPECT_NEAR(cell(times, 4, 512, "speedup"), 2.361, 5e-4);
}

TEST(Studies, StudyEHasBothFormsOfSpeedupUnderTheirNames) {
  const auto times = table(kE, "Time and speedup: resnet18-cifar on cifar10; strong scaling");
  EXPECT_EQ(times["rows"].size(), 12u);
  EXPECT_NEAR(cell(times, 2, 32, "speedup"), 0.567, 5e-4);
  EXPECT_NEAR(cell(times, 2, 32, "scaled_form"), 1.134, 5e-4);
  EXPECT_NEAR(cell(times, 4, 32, "speedup"), 0.314, 5e-4);
  EXPECT_NEAR(cell(times, 4, 32, "scaled_form"), 1.256, 5e-4);
  EXPECT_NEAR(cell(times, 2, 512, "speedup"), 1.444, 5e-4);
  EXPECT_NEAR(cell(times, 4, 2048, "efficiency"), 0.295, 5e-4);
  EXPECT_NE(times["title"].get<std::string>().find("baseline T(1) at the same B"),
            std::string::npos);
}

TEST(Studies, CommunicationOfStudyEIsLabelledDerived) {
  const auto split = table(kE, "Where the time goes");
  EXPECT_DOUBLE_EQ(cell(split, 2, 32, "communication_s"), 48);
  EXPECT_DOUBLE_EQ(cell(split, 2, 128, "communication_s"), 10);
  EXPECT_DOUBLE_EQ(cell(split, 4, 32, "communication_s"), 111.5);
  EXPECT_DOUBLE_EQ(cell(split, 4, 128, "communication_s"), 26);
  for (const auto& row : split["rows"]) EXPECT_EQ(row["origin"], "derived");
}

TEST(Studies, BandwidthOfStudyECountsFourBytesAParameter) {
  const auto all_reduce = table(kE, "All-reduce");
  EXPECT_NEAR(cell(all_reduce, 2, 32, "busbw_gb_per_s"), 1.455, 5e-4);
  EXPECT_NEAR(cell(all_reduce, 4, 32, "busbw_gb_per_s"), 0.940, 5e-4);
  EXPECT_EQ(cell(all_reduce, 2, 32, "steps_per_epoch"), 1563);
  EXPECT_NEAR(cell(all_reduce, 2, 32, "bytes_mb"), 44.695848, 1e-9);
}

TEST(Studies, AuditOfStudyCFlagsEverySpeedupCommunicationTimeAndBandwidth) {
  const auto audit = analyze::audit(study(kC));
  EXPECT_EQ(audit.findings.size(), 18u);
  EXPECT_EQ(audit.count(AuditOutcome::kDoesNotFollow), 18u);
  for (const auto& finding : audit.findings) {
    if (finding.metric == "speedup") {
      EXPECT_NE(finding.slip.find("share of time saved"), std::string::npos);
    }
  }
  EXPECT_NEAR(*audit.findings.at(0).expected, 1.229, 5e-4);
}

TEST(Studies, BandwidthsOfStudyCFollowFromNoParameterCountAtAll) {
  // Without the count they contradict each other; with the right one each of them is off.
  const auto audit = analyze::audit(study(kC), {.parameters = 11'173'962});
  for (const auto& finding : audit.findings) {
    if (finding.metric != "bandwidth") continue;
    EXPECT_EQ(finding.outcome, AuditOutcome::kDoesNotFollow);
    EXPECT_LT(*finding.factor(), 0.1);
  }
}

TEST(Studies, AuditOfStudyEFindsTheForgottenFourBytesInEveryBandwidth) {
  const auto audit = analyze::audit(study(kE));
  int bandwidths = 0;
  for (const auto& finding : audit.findings) {
    if (finding.metric == "bandwidth") {
      ++bandwidths;
      EXPECT_EQ(finding.outcome, AuditOutcome::kDoesNotFollow);
      EXPECT_NEAR(*finding.factor(), 0.25, 1e-5);
      EXPECT_EQ(finding.slip, "the 4 bytes per parameter were left out");
    } else {
      EXPECT_EQ(finding.outcome, AuditOutcome::kFollows) << finding.metric;
    }
  }
  EXPECT_EQ(bandwidths, 6);
  EXPECT_NEAR(*audit.findings.at(4).expected, 1.455, 5e-4);
}

TEST(Studies, VerdictOnStudyBReportsThatTheDeviceIsNotTheLimit) {
  EXPECT_TRUE(
      says(kB, analyze::Topic::kDevice,
           "going from 4 t4 to 4 v100 changed nothing: 81 s and 80 s per epoch (1.2 % apart), "
           "so the device is not the bottleneck"));
  EXPECT_TRUE(says(kB, analyze::Topic::kQuality, "15 at B = 64, 19-20 at 128, 25 at 256"));
  EXPECT_TRUE(says(kB, analyze::Topic::kMissing, "no run on 1 worker"));
}

TEST(Studies, VerdictOnStudyDReportsThatNoCountPaysAndThatTheLossGrew) {
  EXPECT_TRUE(says(kD, analyze::Topic::kWorkers, "no worker count above the smallest pays off"));
  EXPECT_TRUE(
      says(kD, analyze::Topic::kQuality,
           "loss grew with the global batch: 0.019 at B = 64, 0.046-0.047 at 128, 0.8 at 256"));
  EXPECT_TRUE(
      says(kD, analyze::Topic::kLimit, "the data set is too small for more than 2 workers"));
}

TEST(Studies, VerdictOnStudyAComparesDevicesOfTheSameWork) {
  EXPECT_TRUE(
      says(kA, analyze::Topic::kDevice, "1 v100 (cpus=8) is 2.75x as fast as 1 t4 (cpus=8)"));
  EXPECT_TRUE(
      says(kA, analyze::Topic::kMissing, "Which worker count pays off cannot be determined"));
}

TEST(Studies, VerdictOnStudyENamesTheLimitAndWhatDidNotFit) {
  EXPECT_TRUE(says(kE, analyze::Topic::kLimit, "92 % (111.5 of 121 s, 4 gpu, b = 8, B = 32)"));
  EXPECT_TRUE(says(kE, analyze::Topic::kMemory, "b = 8192 ran out of memory"));
}

TEST(Studies, EveryStudyIsWrittenAndReadBackUnchanged) {
  for (const char* name : {kA, kB, kC, kD, kE}) {
    const auto rows = study(name);
    std::istringstream in(report::measurements_csv(rows));
    const auto back = import::read_measurements_table(in, name).rows;
    ASSERT_EQ(back.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(back[i].metric, rows[i].metric);
      EXPECT_EQ(back[i].value, rows[i].value);
      EXPECT_EQ(back[i].global_batch, rows[i].global_batch);
      EXPECT_EQ(back[i].notes, rows[i].notes);
    }
  }
}

TEST(Studies, EveryStudyRendersInEveryFormat) {
  for (const char* name : {kA, kB, kC, kD, kE}) {
    const auto report = report::study_report(study(name));
    EXPECT_FALSE(report.verdict.empty());
    for (const auto format : {report::Format::kText, report::Format::kMarkdown,
                              report::Format::kLatex, report::Format::kJson}) {
      const std::string text =
          report::render_study(report, format, {.width = 100, .definitions = true});
      EXPECT_NE(text.find("missing"), std::string::npos) << name;
    }
  }
}

}  // namespace
}  // namespace lockstep
