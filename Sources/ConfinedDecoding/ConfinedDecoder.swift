internal import CConfinedCodecs
internal import CSystem
package import ImagePipeline
internal import Synchronization
internal import SystemSupport

/// Decodes pictures in processes of their own, which can do nothing else (`ocelli decode`).
///
/// Its calls block: they belong into threads of their own.
package final class ConfinedDecoder: Sendable {
    /// The decoder of this process. Without a program until one is given to it.
    package static let shared = ConfinedDecoder(program: nil)

    private struct State {
        var program: String?
        var arguments: [String]
        var helper: HelperProcess?
    }

    private let state: Mutex<State>
    /// Seconds that a picture may take, of any size.
    package let seconds: Int

    /// The subcommand that the process runs.
    package static let command = "decode"

    /// A decoder.
    /// - Parameter program: a program with the subcommand; nil decodes nothing.
    package init(program: String?, arguments: [String] = ["ocelli", ConfinedDecoder.command], seconds: Int = 30) {
        state = Mutex(State(program: program, arguments: arguments))
        self.seconds = seconds
    }

    /// The program that has the subcommand. The process is started with the first picture.
    package func use(program: String) {
        state.withLock { $0.program = program }
    }

    /// The reason why a format cannot be decoded; nil if it can. Starts the process if it does not run.
    package func reasonAgainst(_ format: ImageFormat) throws(ImageError) -> String? {
        try helper(instead: nil).absent[format]
    }

    /// Opens a picture, up to its size.
    /// - Parameters:
    ///   - page: the page of a TIFF, from 0.
    ///   - isCancelled: asked every few milliseconds.
    package func open(
        _ bytes: UnsafeRawBufferPointer, format: ImageFormat, page: Int = 0, isCancelled: @escaping () -> Bool
    ) throws(ImageError) -> ConfinedPicture {
        guard let number = format.number else { throw .unavailable(format, reason: "it needs no separate process") }
        guard !bytes.isEmpty else { throw .empty }
        var helper = try helper(instead: nil)
        if let reason = helper.absent[format] { throw .unavailable(format, reason: reason) }
        var job = ccodec_job()
        job.format = UInt32(number)
        job.page = UInt32(clamping: page)
        job.bytes = UInt64(bytes.count)
        let limits = DecodeLimits(bytes: bytes.count, seconds: seconds)
        job.memory = UInt64(limits.memoryToOpen)
        job.seconds = UInt32(clamping: limits.secondsToOpen)
        job.most_seconds = UInt32(clamping: seconds)
        let picture = try ConfinedPicture(bytes, format: format, limits: limits)
        if !submit(job, picture, to: helper) {
            // It was killed, perhaps for lack of memory. The next one has nothing to do with the reason.
            helper = try self.helper(instead: helper)
            guard submit(job, picture, to: helper) else { throw .noDecoder("it has ended") }
        }
        let taken = helper
        try picture.open(by: taken, isCancelled: isCancelled) { [self] in
            // A picture that learned this process's address space layout cannot use it for the next picture.
            _ = try? self.helper(instead: taken)
        }
        return picture
    }

    private func submit(_ job: ccodec_job, _ picture: ConfinedPicture, to helper: HelperProcess) -> Bool {
        helper.submit(job, picture.childEnds) {
            // Meanwhile, the process at hand takes further pictures.
            try? SystemThread.start("decoder") { [self] in replace(helper) }
        }
    }

    /// Starts another process, and gives it the pictures to come.
    private func replace(_ helper: HelperProcess) {
        let (program, arguments) = state.withLock { ($0.program, $0.arguments) }
        guard let program, let next = try? HelperProcess(program: program, arguments: arguments) else { return }
        state.withLock { if $0.helper === helper { $0.helper = next } }
    }

    /// The running process, or a new one.
    /// - Parameter dead: one that has ended, or is to take no further pictures.
    private func helper(instead dead: HelperProcess?) throws(ImageError) -> HelperProcess {
        let result: Result<HelperProcess, ImageError> = state.withLock { state in
            if let helper = state.helper, helper !== dead { return .success(helper) }
            guard let program = state.program else {
                return .failure(.noDecoder("this program has no decoding process"))
            }
            return Result { () throws(ImageError) in
                let helper = try HelperProcess(program: program, arguments: state.arguments)
                state.helper = helper
                return helper
            }
        }
        return try result.get()
    }
}
