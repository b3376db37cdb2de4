internal import CSystem
internal import ConfinedDecoding
internal import Dispatch
internal import Glibc
internal import InferenceService
internal import JSON
internal import Settings
internal import Synchronization
internal import SystemSupport

/// The command line program: finds the subcommand and runs it.
@main
enum Ocelli {
    /// Not asynchronous: see ``Daemon/blockSignals()``. The main thread only waits for the end.
    static func main() {
        // Before any thread reads the environment: otherwise newer versions of ONNX Runtime would send and write
        // telemetry.
        setenv("ORT_DISABLE_TELEMETRY", "1", 1)
        // Before other threads start. By default glibc raises these sizes with each large block that is freed: a reader
        // of pages of many sizes then held 650 MiB of free blocks (Benchmarks/results/2026-12-01-read.md).
        csys_bound_free_memory(1 << 20, 4 << 20)
        // This forks, which is not allowed in a process with Swift threads.
        if CommandLine.arguments.dropFirst().first == DecodeCommand.name { Terminal.exit(DecodeCommand.serve()) }
        ConfinedDecoder.shared.use(program: "/proc/self/exe")
        Terminal.holdDescriptors()
        do throws(CommandError) {
            try OpenFilesLimit.check()
        } catch {
            Terminal.complain("ocelli: \(error)")
            Terminal.exit(1)
        }
        // The arguments contain at least the program's name. Swift reads them from /proc.
        guard !CommandLine.arguments.isEmpty else {
            Terminal.complain(
                "ocelli: cannot read the arguments in /proc/self/cmdline: mount /proc (mount -t proc proc /proc), which Ocelli needs for its "
                    + "arguments and for the limits of the machine")
            Terminal.exit(1)
        }
        let arguments = Array(CommandLine.arguments.dropFirst())
        if command(named: arguments.first)?.readsSignals == true { Daemon.blockSignals() }
        let ended = DispatchSemaphore(value: 0)
        let result = Mutex<Int32>(1)
        Task.detached {
            let status = await run(arguments)
            result.withLock { $0 = status }
            ended.signal()
        }
        ended.wait()
        Terminal.exit(result.withLock { $0 })
    }

    /// All subcommands, in the order of `ocelli help`.
    static let commands: [any (Command & Sendable).Type] = [
        ServeCommand.self, ClassifyCommand.self, DetectCommand.self, SegmentCommand.self, KeypointsCommand.self,
        EmbedCommand.self, ReadCommand.self, BenchCommand.self, LoadCommand.self,
        ReportCommand.self, CheckCommand.self, CompareCommand.self, PullCommand.self, InitCommand.self,
        QuantizeCommand.self,
        TeachCommand.self, CalibrateCommand.self, ExportCommand.self, ClientCommand.self,
        UpdateCommand.self, TrainCommand.self, CompileCommand.self, LimitsCommand.self, DevicesCommand.self,
        ReadyCommand.self, HelpCommand.self,
    ]

    /// The name of another command that has this flag.
    private static func command(with flag: String, other name: String) -> String? {
        func knows<Other: Command>(_ command: Other.Type) -> Bool { command.flags.contains { $0.names.contains(flag) } }
        return commands.first { $0.name != name && knows($0) }?.name
    }

    /// The commands that only Ocelli itself calls.
    private static let internalCommands: [any (Command & Sendable).Type] = [TryModelCommand.self]

    private static func command(named name: String?) -> (any (Command & Sendable).Type)? {
        (commands + internalCommands).first { $0.name == name }
    }

    private static func run(_ arguments: [String]) async -> Int32 {
        guard let name = arguments.first else {
            Terminal.print(HelpCommand.overview)
            return 2
        }
        do {
            switch name {
            case "--version", "-V", "-v", "version":
                Terminal.print("ocelli \(OcelliVersion.number)")
                return 0
            case "--help", "-h":
                return try await HelpCommand.run(Array(arguments.dropFirst()))
            default: break
            }
            guard let command = command(named: name) else {
                guard access(name, F_OK) != 0 else {
                    throw UsageError(
                        "\"\(name)\" is not a command; to serve that model: ocelli serve \(ShellWord.quoted(name))")
                }
                let hint = Spelling.hint(for: name, among: commands.map { $0.name })
                throw UsageError("\"\(name)\" is not a command\(hint); `ocelli help` lists them")
            }
            let rest = Array(arguments.dropFirst())
            if rest.contains("--help") || rest.contains("-h") {
                Terminal.print(command.help)
                return 0
            }
            if command.runsModels { try AddressSpace.check() }
            return try await command.run(rest)
        } catch let error as UsageError {
            Terminal.complain("ocelli: \(error.message)")
            return 2
        } catch let error as UnknownFlag {
            Terminal.complain("ocelli: \(error.message(other: command(with: error.flag, other: error.command)))")
            return 2
        } catch let error as CommandError where error.isConfiguration {
            Terminal.complain("ocelli: \(error)")
            return 2
        } catch {
            Terminal.complain("ocelli: \(error)")
            return 1
        }
    }
}
