internal import Dispatch
internal import Glibc

/// The constants of a large model in a file without a name, mapped into memory.
///
/// The engine reads each constant once or twice while it compiles, and then keeps its own form. Memory that is mapped
/// from a file can be released when it is not needed, and is read again if it is needed later; this is not possible
/// with the engine's own memory.
///
/// `@unchecked Sendable`: the members never change, and the memory is only read.
final class ConstantsFile: @unchecked Sendable {
    let start: UnsafeRawPointer
    let size: Int

    /// Makes the file in the first of some folders that has room.
    /// - Parameters:
    ///   - size: in bytes, above 0.
    ///   - folders: where it may be.
    ///   - fill: hands out the constants, each with its place. The space between them is zeros.
    /// - Returns: nil if no folder has room, or no file can be mapped.
    init?(
        size: Int, folders: [String],
        fill: ((Int, UnsafeRawBufferPointer) throws(SystemFailure) -> Void) throws(SystemFailure) -> Void
    ) {
        guard size > 0 else { return nil }
        for folder in folders {
            let descriptor = Self.nameless(in: folder)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            do throws(SystemFailure) {
                // Room for all of it, before anything is written.
                guard posix_fallocate(descriptor, 0, off_t(size)) == 0 else { continue }
                try fill { (offset, bytes) throws(SystemFailure) in try Self.write(bytes, to: descriptor, at: offset) }
            } catch {
                continue
            }
            guard let memory = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0), memory != MAP_FAILED else {
                continue
            }
            start = UnsafeRawPointer(memory)
            self.size = size
            return
        }
        return nil
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: start), size) }

    /// A call of the system that went wrong: another folder is tried.
    struct SystemFailure: Error {}

    private static func nameless(in folder: String) -> Int32 {
        let path = "\(folder)/.constants-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 { unlink(path) }
        return descriptor
    }

    private static func write(
        _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int
    ) throws(SystemFailure) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemFailure() }
            done += count
        }
    }

    // MARK: Giving back

    /// The interval at which pages are released while the engine compiles, in milliseconds: it reads some tens of
    /// megabytes in that time.
    private static let interval = 5

    /// Does some work of the engine, and gives pages back meanwhile and afterwards.
    func givingBackPages<R>(_ work: () throws(EngineError) -> R) throws(EngineError) -> R {
        let giving = GivingBack(self)
        defer { giving.end() }
        return try work()
    }

    /// Gives pages back until it ends.
    struct GivingBack {
        private let constants: ConstantsFile
        private let timer: any DispatchSourceTimer

        init(_ constants: ConstantsFile) {
            self.constants = constants
            timer = DispatchSource.makeTimerSource(queue: .global(qos: .userInitiated))
            timer.schedule(deadline: .now(), repeating: .milliseconds(ConstantsFile.interval))
            timer.setEventHandler { [constants] in constants.giveBackPages() }
            timer.resume()
        }

        func end() {
            timer.cancel()
            constants.giveBackPages()
        }
    }

    private func giveBackPages() {
        // Pages of a private mapping that was never written to: what is read again comes from the file.
        madvise(UnsafeMutableRawPointer(mutating: start), size, MADV_DONTNEED)
    }
}
