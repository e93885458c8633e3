#include <gtest/gtest.h>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"
#include "lockstep/import/readers/tables/markdown_blocks.h"

namespace lockstep::import {
namespace {

TEST(Markdown, ProseReportsNoRun) {
  const std::string prose =
      "## A small GPT\n\nOn 8 GPUs use batch_size=12. It went from ~250ms / iter to 135ms / iter.\n"
      "Time per epoch (1 GPU against 4 GPUs) fell; with less you get CUDA out of memory errors.\n\n"
      "```sh\ntorchrun --nproc_per_node=8 --nnodes=2 train.py --batch_size=12\n```\n";
  EXPECT_THROW(import_text(prose, "README.md"), Error);
  EXPECT_THROW(import_text(prose, "notes"), Error) << "headings and fences show what it is";
  EXPECT_FALSE(is_markdown("# nThread 1 nGpus 8\n```\n  8  2  float\n```\n", "all_reduce.txt"));
}

TEST(Markdown, CodeBlocksAreTextsOfTheirOwn) {
  const ImportedFile file = import_fixture("report.md");
  EXPECT_EQ(file.format, "markdown");
  ASSERT_EQ(file.runs.size(), 2u);
  const ImportedRun& one = file.runs[0];
  EXPECT_EQ(*one.workers, 1);
  EXPECT_EQ(*one.batch_said, 16) << "the line above the block states it";
  ASSERT_EQ(one.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(one.epochs[1].train_s, 54.5);
  EXPECT_DOUBLE_EQ(one.epochs[1].val_loss, 0.375);
  EXPECT_FALSE(one.out_of_memory) << "the sentence below is about another run";
  const ImportedRun& two = file.runs[1];
  EXPECT_EQ(*two.workers, 4);
  EXPECT_FALSE(two.batch_said) << "stated above another block";
  EXPECT_DOUBLE_EQ(two.epochs[1].train_s, 14.75);
  EXPECT_EQ(two.notes.at("heading"), "On 4 GPUs");
}

TEST(Markdown, TablesGoBeforeExcerptsOfLogs) {
  const ImportedFile file = import_text(
      "# Results\n\n| GPUs | Epoch time (s) |\n|---|---|\n| 1 | 40.5 |\n| 2 | 21.25 |\n\n"
      "```\nEpoch 1: loss 0.5, time 40.25 s\nEpoch 2: loss 0.25, time 40.75 s\n```\n",
      "RESULTS.md");
  ASSERT_EQ(file.runs.size(), 2u);
  EXPECT_DOUBLE_EQ(*file.runs[1].epoch_s, 21.25);
}

TEST(Markdown, ExplanationCountsTheLinesOfTheDocument) {
  ImportOptions options;
  options.explain = true;
  const ImportedFile file = import_fixture("report.md", options);
  ASSERT_FALSE(file.explained.empty());
  std::string text = fixture_text("report.md");
  std::vector<std::string> lines;
  for_each_line(text, [&](std::string_view line) { lines.emplace_back(line); });
  for (const ExplainedLine& line : file.explained) {
    ASSERT_LE(line.number, lines.size());
    EXPECT_EQ(line.text, lines[line.number - 1]);
  }
}

TEST(MarkdownBlocks, SourceCodeIsLeftOutAndLongerFencesEncloseShorterOnes) {
  const MarkdownText text = cut_markdown(
      "# Top\n## Low\nrun:\n```bash\necho\n```\n```python\nx = "
      "1\n```\n````\n```\ninner\n```\n````\n");
  ASSERT_EQ(text.blocks.size(), 2u);
  EXPECT_EQ(text.blocks[0].line, 5u);
  EXPECT_EQ(text.blocks[0].introduction, "run:");
  EXPECT_EQ(text.blocks[0].headings, (std::vector<std::string>{"Top", "Low"}));
  EXPECT_EQ(text.blocks[1].text, "```\ninner\n```\n");
  EXPECT_EQ(text.prose, "# Top\n## Low\nrun:\n\n\n\n\n\n\n\n\n\n\n\n");
}

TEST(Markdown, OutputThatIsExpectedMayBeAnExample) {
  const std::string block = "```\nEpoch 1: loss 2.345\nEpoch 2: loss 1.234\n```\n";
  for (const char* words :
       {"# Course\n\n## Expected Output\n\n", "# Course\n\nExpected output:\n\n"}) {
    try {
      import_text(words + block, "README.md");
      ADD_FAILURE() << "read as a run";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("may be of nothing that ran"), std::string::npos)
          << error.what();
    }
  }
  EXPECT_EQ(import_text("# Course\n\n## An unexpected result\n\n" + block, "README.md").runs.size(),
            1u);
}

}  // namespace
}  // namespace lockstep::import
