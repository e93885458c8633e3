#include "lockstep/import/measured_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lockstep/base/error.h"

namespace lockstep::import {
namespace {

class MeasuredFileTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  MeasurementsTable read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_measured_file(path_);
  }

  const std::string path_ = ::testing::TempDir() + "measured_file_test_" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                            ".csv";
};

TEST_F(MeasuredFileTest, ReadsAMeasurementsTable) {
  const MeasurementsTable table = read("workers,metric,value,unit\n2,epoch_time,3,s\n");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].workers, 2);
  EXPECT_FALSE(table.from_runs);
}

TEST_F(MeasuredFileTest, ReadsASpreadsheetWithOneRowPerRun) {
  const MeasurementsTable table =
      read("GPUs,batch,epoch time (s),speedup\n1,64,120,1\n2,64,65,1.9\n");
  std::vector<std::string> found;
  for (const record::Measurement& row : table.rows) {
    found.push_back(row.metric + " at " + std::to_string(row.workers.value_or(0)) + " of run " +
                    row.run);
  }
  EXPECT_EQ(found, (std::vector<std::string>{
                       "epoch_time at 1 of run 1", "reported_speedup at 1 of run 1",
                       "epoch_time at 2 of run 2", "reported_speedup at 2 of run 2"}));
  EXPECT_EQ(table.rows.back().stated_batch, 64);
  EXPECT_TRUE(table.from_runs);
  ASSERT_FALSE(table.notices.empty());
  EXPECT_NE(table.notices.back().find("--set is an option of lockstep import"), std::string::npos);
}

TEST_F(MeasuredFileTest, NamesTheMissingColumnsOfAMeasurementsTable) {
  try {
    read("workers,value\n2,3\n");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("column 'metric' is missing"), std::string::npos);
  }
}

TEST_F(MeasuredFileTest, RefusesWhatHasNoFigures) {
  EXPECT_THROW(read("to do: buy milk\n"), Error);
  std::filesystem::remove(path_);
  EXPECT_THROW(read_measured_file(path_), Error);
}

TEST_F(MeasuredFileTest, RefusesAFolderAndNamesTheCommandThatReadsIt) {
  try {
    read_measured_file(::testing::TempDir());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("it is a folder"), std::string::npos);
    EXPECT_EQ(error.hint(), "give one file, or store the runs of the folder: lockstep import " +
                                ::testing::TempDir());
  }
}

}  // namespace
}  // namespace lockstep::import
