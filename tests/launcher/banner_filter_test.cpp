#include "launch/banner_filter.h"

#include <gtest/gtest.h>

#include <string>

namespace spillway::launch {
namespace {

const std::string kHydraRule(83, '=');
const std::string kOpenMpiRule(74, '-');
const std::string kHydraNotice = "\n" + kHydraRule +
                                 "\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
                                 "=   PID 4711 RUNNING AT vm\n=   EXIT CODE: 9\n=   CLEANING UP REMAINING PROCESSES\n"
                                 "=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n" +
                                 kHydraRule +
                                 "\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n"
                                 "This typically refers to a problem with your application.\n"
                                 "Please see the FAQ page for debugging suggestions\n";
const std::string kOpenMpiNotice =
    kOpenMpiRule + "\nmpiexec noticed that process rank 2 with PID 0 on node vm exited on signal 9 (Killed).\n" +
    kOpenMpiRule + "\n";

// Every way to cut the text into two reads must give the same.
std::string filtered(const std::string& text) {
  std::string first_result;
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    BannerFilter filter;
    std::string output;
    filter.feed(text.substr(0, cut), output);
    filter.feed(text.substr(cut), output);
    filter.flush(output);
    if (cut == 0) first_result = output;
    EXPECT_EQ(output, first_result) << "cut at " << cut;
  }
  return first_result;
}

TEST(BannerFilter, drops_the_notice_of_hydra) {
  EXPECT_EQ(filtered("result 1\n" + kHydraNotice + "result 2\n"), "result 1\nresult 2\n");
}

TEST(BannerFilter, drops_the_notice_of_open_mpi) {
  EXPECT_EQ(filtered("result 1\n" + kOpenMpiNotice + kOpenMpiNotice + "result 2\n"), "result 1\nresult 2\n");
}

TEST(BannerFilter, drops_messages_of_hydras_own_processes) {
  EXPECT_EQ(filtered("[proxy:0:0@vm] main (proxy.c:206): demux engine error\n[mpiexec@vm] assert failed\nend\n"),
            "end\n");
}

TEST(BannerFilter, keeps_what_hydras_own_processes_say_of_their_errors) {
  BannerFilter filter;
  std::string output;
  filter.feed("result\n" + kHydraNotice + "[mpiexec@vm] control_cb: assert failed\n[proxy:0:0@vm] main: error\n",
              output);
  EXPECT_EQ(output, "result\n");
  EXPECT_EQ(filter.errors_of_launcher(), "[mpiexec@vm] control_cb: assert failed\n[proxy:0:0@vm] main: error\n");
}

TEST(BannerFilter, passes_rules_and_boxes_of_the_program) {
  for (const std::string& rule : {kHydraRule, kOpenMpiRule}) {
    const std::string text = "\n\n" + rule + "\nresults of the run\n" + rule + "\n" + rule + "\n" + rule + "\n\nend\n";
    EXPECT_EQ(filtered(text), text);
  }
}

TEST(BannerFilter, passes_text_without_last_newline) {
  for (const std::string text : {"progress 50%", "=== title", "-", "\n", "[pro",
                                 "a\n\n"
                                 "b"})
    EXPECT_EQ(filtered(text), text);
  EXPECT_EQ(filtered(kHydraRule), kHydraRule);
}

TEST(BannerFilter, passes_binary_bytes) {
  std::string text;
  for (int i = 0; i < 512; ++i) text += static_cast<char>(i);
  EXPECT_EQ(filtered(text), text);
}

TEST(BannerFilter, holds_back_nothing_that_cannot_become_a_notice) {
  BannerFilter filter;
  std::string output;
  filter.feed("Enter a number: ", output);
  EXPECT_EQ(output, "Enter a number: ");
  EXPECT_FALSE(filter.holds_text());
  filter.feed("7", output);
  EXPECT_EQ(output, "Enter a number: 7");
}

TEST(BannerFilter, flush_gives_up_holding_a_rule_and_what_follows_is_no_notice) {
  BannerFilter filter;
  std::string output;
  filter.feed(kOpenMpiRule + "\n", output);
  EXPECT_TRUE(filter.holds_text());
  EXPECT_EQ(output, "");
  filter.flush(output);
  EXPECT_EQ(output, kOpenMpiRule + "\n");
  filter.feed("table\n", output);
  EXPECT_EQ(output, kOpenMpiRule + "\ntable\n");
}

}  // namespace
}  // namespace spillway::launch
