// Answers the `cpuid` instructions that scripts/other-processors has replaced in a copy of the engine's libraries, as a processor
// would that lacks some extensions. Loaded before everything else (LD_PRELOAD). It replaces those of the program itself too:
// they are in the compiler's function behind __builtin_cpu_supports, which runs before main.
//
// Byte 0x06 is no instruction in 64-bit mode, and no compiler emits it: the processor raises SIGILL there, and nowhere else.
#define _GNU_SOURCE
#include <cpuid.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

// The registers of one leaf, without the extensions that the processor lacks.
struct lacking {
    uint32_t leaf, subleaf, eax, ebx, ecx, edx;
};

static const struct lacking lacking[] = {LACKING};

static struct sigaction others;

static void answer(int signal, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *at = (const uint8_t *)registers[REG_RIP];
    if (at[0] != 0x06 || at[1] != 0xa2) {
        // Another SIGILL: the instruction runs again, with the previous handler of this signal.
        sigaction(signal, &others, 0);
        return;
    }
    uint32_t leaf = (uint32_t)registers[REG_RAX], subleaf = (uint32_t)registers[REG_RCX];
    uint32_t eax, ebx, ecx, edx;
    __cpuid_count(leaf, subleaf, eax, ebx, ecx, edx);
    for (unsigned i = 0; i < sizeof lacking / sizeof *lacking; i++) {
        const struct lacking *it = &lacking[i];
        if (it->leaf != leaf || (leaf == 7 && it->subleaf != subleaf)) continue;
        eax &= ~it->eax, ebx &= ~it->ebx, ecx &= ~it->ecx, edx &= ~it->edx;
    }
    registers[REG_RAX] = eax, registers[REG_RBX] = ebx, registers[REG_RCX] = ecx, registers[REG_RDX] = edx;
    registers[REG_RIP] += 2;
}

static void replace(uint8_t *code, uint64_t size) {
    uintptr_t page = (uintptr_t)code & ~(uintptr_t)4095;
    if (mprotect((void *)page, (uintptr_t)code + size - page, PROT_READ | PROT_WRITE | PROT_EXEC) < 0) return;
    for (uint64_t i = 0; i + 1 < size; i++) {
        if (code[i] == 0x0f && code[i + 1] == 0xa2) code[i] = 0x06;
    }
    mprotect((void *)page, (uintptr_t)code + size - page, PROT_READ | PROT_EXEC);
}

// The difference between the program's load address and its preferred address.
static uintptr_t program_base(void) {
    const Elf64_Phdr *header = (const Elf64_Phdr *)getauxval(AT_PHDR);
    for (unsigned long i = 0; i < getauxval(AT_PHNUM); i++) {
        if (header[i].p_type == PT_PHDR) return (uintptr_t)header - header[i].p_vaddr;
    }
    return 0;
}

static void replace_in_program(const uint8_t *file, size_t size) {
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)file;
    if (size < sizeof *elf || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0) return;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + elf->e_shoff);
    for (int i = 0; i < elf->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB) continue;
        const Elf64_Sym *symbols = (const Elf64_Sym *)(file + sections[i].sh_offset);
        const char *names = (const char *)file + sections[sections[i].sh_link].sh_offset;
        for (uint64_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++) {
            const char *name = names + symbols[k].st_name;
            // libgcc's; the second has a suffix.
            bool asks = strcmp(name, "__cpu_indicator_init") == 0 || strncmp(name, "get_available_features", 22) == 0;
            if (asks && symbols[k].st_size > 0)
                replace((uint8_t *)(program_base() + symbols[k].st_value), symbols[k].st_size);
        }
    }
}

__attribute__((constructor)) static void install(void) {
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGILL, &action, &others);
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0) return;
    if (fstat(fd, &status) == 0) {
        void *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (file != MAP_FAILED) {
            replace_in_program(file, (size_t)status.st_size);
            munmap(file, (size_t)status.st_size);
        }
    }
    close(fd);
}
