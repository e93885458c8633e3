#include "lockstep/import/measurements_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"

namespace lockstep::import {
namespace {

MeasurementsTable read(const std::string& text) {
  std::istringstream in(text);
  return read_measurements_table(in, "t.csv");
}

/// The message of the error that reading gives.
std::string refusal(const std::string& text) {
  try {
    read(text);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    return error.what();
  }
}

TEST(MeasurementsTable, ReadsColumnsInAnyOrderAndKeepsOthersAsNotes) {
  const auto table = read(
      "value,metric,unit,workers,cpus,global_batch,model\n"
      "38,epoch_time,s,2,16,32,\"resnet, small\"\n");
  ASSERT_EQ(table.rows.size(), 1u);
  const record::Measurement& row = table.rows[0];
  EXPECT_EQ(row.model, "resnet, small");
  EXPECT_EQ(row.workers, 2);
  EXPECT_EQ(row.global_batch, 32);
  EXPECT_FALSE(row.batch_per_worker.has_value());
  EXPECT_DOUBLE_EQ(row.value, 38);
  EXPECT_EQ(row.notes.at("cpus"), "16");
  EXPECT_EQ(row.line, 2u);
  EXPECT_EQ(table.notices, std::vector<std::string>{"column 'cpus' is kept as a note"});
}

TEST(MeasurementsTable, KnowsTheOtherNamesOfColumnsAndSaysSo) {
  const auto table = read("batch_global,metric,value,unit,GPUs\n32,epoch_time,1,s,4\n");
  EXPECT_EQ(table.rows[0].global_batch, 32);
  EXPECT_EQ(table.rows[0].workers, 4);
  EXPECT_EQ(table.notices.at(0), "column 'batch_global' is read as global_batch");
  EXPECT_EQ(read("batch,metric,value,unit\n32,epoch_time,1,s\n").rows[0].global_batch, 32);
  const auto open = read("batch_size,metric,value\n32,val_loss,1\n");
  EXPECT_FALSE(open.rows[0].global_batch.has_value());
  EXPECT_EQ(open.rows[0].stated_batch, 32);
}

TEST(MeasurementsTable, ConvertsUnits) {
  const auto table = read(
      "metric,value,unit\n"
      "epoch_time,2.5,min\nstep_time,12,ms\ntotal_time,1.5,h\nthroughput,600,images/min\n"
      "val_accuracy,68.88,%\nreported_bandwidth,8,Gbit/s\nreported_bandwidth,1,GiB/s\n");
  const std::vector<double> expected{150, 0.012, 5400, 10, 0.6888, 1, 1.073741824};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(table.rows[i].value, expected[i], 1e-12) << i;
  }
  EXPECT_EQ(table.rows[0].unit, "s");
  EXPECT_EQ(table.rows[3].unit, "examples/s");
  EXPECT_EQ(table.rows[5].unit, "GB/s");
}

TEST(MeasurementsTable, KeepsMetricsItDoesNotKnow) {
  const auto table = read("metric,value,unit\nfan_speed,3000,rpm\nloss_D,0.1,\n");
  EXPECT_EQ(table.rows[0].unit, "rpm");
  EXPECT_EQ(table.notices.at(0), "metric 'fan_speed' is stored but not used in computations");
}

TEST(MeasurementsTable, RefusesWhatCannotBeWithFileAndLine) {
  const std::string header = "workers,metric,value,unit\n";
  EXPECT_EQ(refusal(header + "1,epoch_time,0,s\n"),
            "t.csv, line 2: epoch_time is 0, which is impossible");
  EXPECT_EQ(refusal(header + "1,epoch_time,1,s\n2,step_time,-3,ms\n"),
            "t.csv, line 3: step_time is -3, which is impossible");
  EXPECT_EQ(refusal(header + "1,epoch_time,1,parsecs\n"),
            "t.csv, line 2: 'parsecs' is not a unit of epoch_time");
  EXPECT_EQ(refusal(header + "1,epoch_time,1,\n"), "t.csv, line 2: epoch_time has no unit");
  EXPECT_EQ(refusal(header + "1,epoch_time,12s,s\n"),
            "t.csv, line 2: the value of epoch_time '12s' is not a number");
  EXPECT_EQ(refusal(header + "1,epoch_time,,s\n"),
            "t.csv, line 2: the value of epoch_time is missing");
  EXPECT_EQ(refusal(header + "1,,3,s\n"), "t.csv, line 2: the metric is missing");
  EXPECT_EQ(refusal(header + "1.5,epoch_time,3,s\n"),
            "t.csv, line 2: workers '1.5' is not a whole number above zero");
  EXPECT_EQ(refusal(header + "0,epoch_time,3,s\n"),
            "t.csv, line 2: workers '0' is not a whole number above zero");
  EXPECT_EQ(refusal(header + "1,epoch_time,nan,s\n"),
            "t.csv, line 2: epoch_time 'nan' is not a finite number");
  EXPECT_EQ(refusal(header + "1,val_accuracy,68.9,\n"),
            "t.csv, line 2: val_accuracy 68.9 is not a fraction");
  EXPECT_EQ(refusal(header + "1,epoch_time,3,s,extra\n"),
            "t.csv, line 2: 5 fields, but the header has 4");
}

TEST(MeasurementsTable, LeavesOutAndNamesWhatCannotBeWhereThatIsAskedFor) {
  std::istringstream in(
      "workers,metric,value,unit\n"
      "1,throughput,100,samples/s\n"
      "2,throughput,0,samples/s\n"
      "x,throughput,300,samples/s\n");
  const auto table = read_measurements_table(in, "t.csv", BadRow::kLeaveOut);
  EXPECT_EQ(table.rows.size(), 1u);
  ASSERT_EQ(table.left_out.size(), 2u);
  EXPECT_NE(table.left_out[0].find("t.csv, line 3"), std::string::npos);
  std::istringstream none("workers,metric,value,unit\n1,throughput,0,samples/s\n");
  EXPECT_THROW(read_measurements_table(none, "t.csv", BadRow::kLeaveOut), Error);
}

TEST(MeasurementsTable, RefusesTablesWithoutMetricOrValue) {
  EXPECT_EQ(refusal("model,epoch_time\nresnet,3\n"),
            "t.csv, line 1: column 'metric' is missing; the columns are model, epoch_time");
  EXPECT_EQ(refusal("metric,batch,global_batch,value\n"),
            "t.csv, line 1: the column global_batch appears twice");
  EXPECT_EQ(refusal(""), "t.csv is empty");
  EXPECT_EQ(refusal("metric,value\n\n"), "t.csv has no measurements");
}

TEST(MeasurementsTable, LineNumbersCountLinesInsideQuotes) {
  EXPECT_EQ(refusal("model,metric,value,unit\n\"a\nb\",epoch_time,1,s\nc,epoch_time,x,s\n"),
            "t.csv, line 4: the value of epoch_time 'x' is not a number");
}

TEST(MeasurementsTable, TakesPartsOfAStepThatTookNoTime) {
  EXPECT_EQ(read("metric,value,unit\nsync_time,0,s\n").rows.at(0).value, 0);
}

TEST(MeasurementsTable, RatesOfOtherThingsThanExamplesAreNoThroughput) {
  const auto table = read(
      "metric,value,unit\nthroughput,20,it/s\nthroughput,6000,tokens/s\nthroughput,1.5,TFLOP/s\n"
      "throughput,300,sequences/s\n");
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(table.rows[0].metric, "step_time");
  EXPECT_DOUBLE_EQ(table.rows[0].value, 0.05);
  EXPECT_EQ(table.rows[1].metric, "tokens_per_s");
  EXPECT_DOUBLE_EQ(table.rows[1].value, 6000);
  EXPECT_EQ(table.rows[2].metric, "TFLOP_per_s");
  EXPECT_EQ(table.rows[3].metric, "throughput");
}

TEST(MeasurementsTable, AnyRateIsKeptAndARemarkAfterAUnitIsLeftOut) {
  const auto table = read(
      "metric,value,unit\nthroughput,20,clips/s\nthroughput,60,\"items/s (images, or tokens)\"\n");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].metric, "clips_per_s");
  EXPECT_EQ(table.rows[1].metric, "throughput");
  EXPECT_EQ(table.rows[1].unit, "examples/s");
}

TEST(MeasurementsTable, TakesADivergedLoss) {
  EXPECT_TRUE(std::isnan(read("metric,value\nval_loss,nan\n").rows[0].value));
}

TEST(MeasurementsTable, SkipsCommentsBlankLinesAndByteOrderMark) {
  const auto table = read("\xEF\xBB\xBFmetric,value\r\n\r\n# by hand\r\nval_loss,1\r\n");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].line, 4u);
}

TEST(MeasurementsTable, RefusalsAreOneLineWhateverAFieldContains) {
  EXPECT_EQ(refusal("metric,value\nval_loss,\"1\n2\"\n").find('\n'), std::string::npos);
}

TEST(MeasurementsTable, AnyBytesGiveATableOrAnErrorOfTheDataKind) {
  Rng rng(5);
  const std::string seed = "model,metric,value,unit\nresnet,epoch_time,3,s\n\"a\",val_loss,1e-3,\n";
  for (int round = 0; round < 2000; ++round) {
    std::string text = seed;
    for (int i = 0; i < 4; ++i) text[rng.below(text.size())] = static_cast<char>(rng.next());
    text.resize(rng.below(text.size() + 1));
    refusal(text);
  }
}

}  // namespace
}  // namespace lockstep::import
