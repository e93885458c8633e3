#include <gtest/gtest.h>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"
#include "lockstep/import/scan/printed_frame.h"

namespace lockstep::import {
namespace {

constexpr const char* kWideFrame =
    "   train/final_acc  train/final_loss  \\\n"
    "0           0.9125          0.250000   \n"
    "1           0.8750          0.375000   \n"
    "\n"
    "   time/total_train_time       lr  batch_size optimizer  \n"
    "0             171.250000  0.00050          16      Adam  \n"
    "1             162.500000  0.00100          16       SGD  \n";

/// A notebook whose cells printed these texts.
std::string notebook_of(const std::vector<std::string>& outputs) {
  std::string text = R"({"cells": [)";
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::string quoted;
    for (const char c : outputs[i]) {
      if (c == '\n') {
        quoted += "\\n";
      } else if (c == '\\' || c == '"') {
        quoted += std::string("\\") + c;
      } else {
        quoted += c;
      }
    }
    text +=
        (i == 0 ? "" : ",") + std::string(R"({"cell_type": "code", "execution_count": )") +
        std::to_string(i + 1) +
        R"(, "source": ["batch_size = 512"], "outputs": [{"output_type": "stream", "text": [")" +
        quoted + "\"]}]}";
  }
  return text + "]}";
}

TEST(PrintedFrame, PartsOfAWideFrameArePutTogether) {
  const auto frames = find_frames(kWideFrame);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].columns.size(), 6u);
  ASSERT_EQ(frames[0].rows.size(), 2u);
  EXPECT_EQ(frames[0].rows[1][5], "SGD");
}

TEST(PrintedFrame, LinesWithTooFewOrTooManyValuesBelongToNone) {
  EXPECT_TRUE(find_frames("   gpus  time\n0  1\n1  2  3  4\n").empty());
  EXPECT_TRUE(find_frames("   gpus  time\nthe quick fox\n").empty());
  EXPECT_TRUE(find_frames("").empty());
  // The part below the backslash has other lines: a torn frame.
  EXPECT_TRUE(find_frames("   a  b  \\\n0  1  2\n\n   c  d\n5  3  4\n").empty());
}

TEST(Frames, EachLineOfATableOfRunsIsARun) {
  const ImportedFile file = import_text(notebook_of({kWideFrame}), "hw.ipynb");
  ASSERT_EQ(file.runs.size(), 2u);
  const ImportedRun& run = file.runs[0];
  EXPECT_EQ(*run.batch_per_worker, 16);
  EXPECT_DOUBLE_EQ(*run.total_s, 171.25);
  EXPECT_DOUBLE_EQ(run.at_end->train_accuracy, 0.9125);
  EXPECT_EQ(run.notes.at("setting"), "lr 0.00050");
  EXPECT_FALSE(run.workers);
  EXPECT_NE(*file.runs[0].model, *file.runs[1].model) << "never averaged";
}

TEST(Frames, TableThatRepeatsPrintedRunsAddsNone) {
  const ImportedFile file =
      import_text(notebook_of({"Batch size: 32\nEpoch 1: loss 0.5\nEpoch 2: loss 0.25\n"
                               "Average time per epoch: 14.25\n",
                               "   avg_epoch_time  batch_size\n0           14.25          32\n"}),
                  "hw.ipynb");
  ASSERT_EQ(file.runs.size(), 1u);
  EXPECT_DOUBLE_EQ(*file.runs[0].epoch_s, 14.25);
}

TEST(Frames, DerivedColumnsAndTheCourseOfARunAreNoRuns) {
  EXPECT_THROW(import_text(notebook_of({"   gpus  speedup\n0  1  1.0\n1  2  1.8\n"}), "a.ipynb"),
               Error);
  EXPECT_THROW(import_text(notebook_of({"   epoch  loss\n0  1  0.5\n1  2  0.4\n"}), "a.ipynb"),
               Error);
}

TEST(Frames, PastedTableKeepsWhatItDoesNotExplain) {
  const ImportedFile file = import_text(
      "Files already downloaded\nOut[3]:\tgpu_nums\tbatch_size\ttime\tspeedup\n"
      "\t0\t1\t32\t38.0\t1.000000\n\t4\t2\t32\t67.0\t0.567164\n"
      "# Out []: gpu\\_nums batch\\_size time speedup 3 1 2048 13.0 1.0 7 2 2048 10.0 1.3\n"
      "Out[4]:\tgpu_nums\tbatch_size\ttime\n\t0\t1\t32\t38.0\n");
  EXPECT_EQ(file.format, "frames");
  ASSERT_EQ(file.runs.size(), 4u);
  EXPECT_EQ(*file.runs[1].workers, 2);
  EXPECT_DOUBLE_EQ(file.runs[1].other.at("time").last(), 67);
  EXPECT_FALSE(file.runs[1].epoch_s);
  EXPECT_FALSE(file.runs[1].batch_per_worker) << "of one worker or of both?";
  EXPECT_EQ(*file.runs[0].batch_per_worker, 32) << "with one worker it is both";
  EXPECT_EQ(file.runs[1].warnings.size(), 2u);
}

TEST(Lists, OneValuePerEpochIsTakenWhereANameSaysSo) {
  const std::string lists =
      "Training loss: ['0.424', '0.209']\nTraining accuracy: ['0.800', '0.924']\n"
      "Data loading time (s): ['0.157', '0.127']\n"
      "Total epoch training time (s):  ['20.470', '14.950']\n";
  const ImportedFile file = import_text(lists +
                                        "Training loss: ['0.474', '0.231']\n"
                                        "Total epoch training time (s): [36.165, 31.397]\n");
  ASSERT_EQ(file.runs.size(), 2u);
  ASSERT_EQ(file.runs[0].epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[1].train_s, 14.95);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[1].train_loss, 0.209);
  EXPECT_DOUBLE_EQ(file.runs[1].epochs[0].train_s, 36.165);
  EXPECT_THROW(import_text("Training loss: [0.4, 0.2, 0.1]\n"), Error) << "steps or epochs?";
}

}  // namespace
}  // namespace lockstep::import
