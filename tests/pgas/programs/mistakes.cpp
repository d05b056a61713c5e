// Makes one mistake, which its argument names, in the last PE.
#include <spillway/pgas.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

int main(int, char** argv) {
  const char* mistake = argv[1];
  const auto is = [&](const char* name) { return std::strcmp(mistake, name) == 0; };
  if (is("before")) pgas_barrier_all();
  pgas_init();
  if (is("twice")) pgas_init();
  const bool is_last = pgas_my_pe() == pgas_n_pes() - 1;
  uint64_t* const memory = static_cast<uint64_t*>(pgas_calloc(4, sizeof(uint64_t)));
  uint64_t on_stack = 0;
  uint64_t* const no_room = static_cast<uint64_t*>(pgas_malloc(size_t{1} << 40));
  if (is("sizes")) pgas_malloc(is_last ? 8 : 16);
  if (is("alignment")) pgas_align(24, 8);
  if (is_last) {
    if (is("pe")) pgas_putmem(memory, &on_stack, 8, pgas_n_pes());
    if (is("address")) pgas_putmem(&on_stack, memory, 8, 0);
    if (is("end")) pgas_getmem(&on_stack, memory, size_t{1} << 30, 0);
    if (is("border")) pgas_int64_atomic_add(reinterpret_cast<int64_t*>(reinterpret_cast<char*>(memory) + 4), 1, 0);
    if (is("comparison")) pgas_signal_wait_until(memory, 7, 1);
    if (is("full")) pgas_uint64_p(no_room, 1, 0);
    if (is("signal-address")) pgas_putmem_signal_nbi(memory, &on_stack, 8, &on_stack, 1, PGAS_SIGNAL_ADD, 0);
    if (is("signal-pe")) pgas_putmem_signal_nbi(memory, &on_stack, 0, memory, 1, PGAS_SIGNAL_ADD, -1);
    if (is("handle")) (void)pgas_put_is_complete(7);
    if (is("get-pe")) pgas_getmem_nbi(&on_stack, memory, 8, -1);
    if (is("atomic-pe")) (void)pgas_uint64_atomic_compare_swap(memory, 0, 1, pgas_n_pes());
    if (is("atomic-address")) (void)pgas_uint64_atomic_fetch(&on_stack, 0);
    if (is("wait-address")) pgas_uint64_wait_until(&on_stack, PGAS_CMP_EQ, 1);
    if (is("stride")) pgas_uint64_iput(memory, &on_stack, 0, 1, 1, 0);
    if (is("strided-end")) pgas_uint64_iget(&on_stack, memory, 1, 1 << 20, 1 << 10, 0);
    if (is("strided-overflow")) pgas_uint64_iget(&on_stack, memory, 1, 6148914691236517205, 4, 0);
    if (is("many-places")) (void)pgas_uint64_test_some(memory, 1, nullptr, nullptr, PGAS_CMP_EQ, 1);
    if (is("many-address")) (void)pgas_uint64_wait_until_any(&on_stack, 1, nullptr, PGAS_CMP_EQ, 1);
    if (is("many-end")) (void)pgas_uint64_test_all(memory, 1 << 30, nullptr, PGAS_CMP_EQ, 1);
    if (is("test-border"))
      (void)pgas_uint64_test(reinterpret_cast<uint64_t*>(reinterpret_cast<char*>(memory) + 1), 1, 1);
    if (is("signal")) pgas_putmem_signal(memory, &on_stack, 8, memory, 1, 0, 0);
    if (is("exit")) pgas_global_exit(7);
    if (is("kill")) std::abort();
  }
  if (is("free")) pgas_free(memory + 2);
  if (is("free-others")) pgas_free(is_last ? memory : memory + 2);
  pgas_signal_wait_until(memory, PGAS_CMP_NE, 0);  // for ever
}
