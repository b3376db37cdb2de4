internal import CConfinedCodecs
internal import CSystem
package import ImagePipeline
internal import Synchronization

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
    /// Seconds that a picture may take.
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
        job.memory = UInt64(ConfinedPicture.memoryToOpen + bytes.count)
        job.seconds = UInt32(clamping: seconds)
        let picture = try ConfinedPicture(bytes, format: format, seconds: seconds)
        if !helper.submit(job, picture.farEnds) {
            // It was killed, perhaps for lack of memory. The next one has nothing to do with the reason.
            helper = try self.helper(instead: helper)
            guard helper.submit(job, picture.farEnds) else { throw .noDecoder("it has ended") }
        }
        try picture.open(isCancelled: isCancelled)
        return picture
    }

    /// The running process, or a new one.
    /// - Parameter dead: one that has ended.
    private func helper(instead dead: HelperProcess?) throws(ImageError) -> HelperProcess {
        let result: Result<HelperProcess, ImageError> = state.withLock { state in
            if let helper = state.helper, helper !== dead { return .success(helper) }
            guard let program = state.program else {
                return .failure(.noDecoder("this program has none"))
            }
            do throws(ImageError) {
                let helper = try HelperProcess(program: program, arguments: state.arguments)
                state.helper = helper
                return .success(helper)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
