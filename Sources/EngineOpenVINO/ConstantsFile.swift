internal import Dispatch
internal import EngineAPI
internal import Glibc

/// The constants of a large model in an unlinked file that is mapped into memory.
///
/// The engine reads each constant once or twice while it compiles, and then keeps its own form. Memory that is mapped
/// from a file can be released when it is not needed, and is read again if it is needed later; this is not possible
/// with the engine's own memory.
///
/// `@unchecked Sendable`: the members never change, and the memory is only read.
final class ConstantsFile: @unchecked Sendable {
    let start: UnsafeRawPointer
    let size: Int

    /// Creates the file in the first folder with enough space.
    /// - Parameters:
    ///   - size: in bytes, greater than 0.
    ///   - folders: the folders to try, in order.
    ///   - fill: passes the constants, each with its offset. The space between them is filled with zeros.
    /// - Returns: nil if no folder has enough space, or no file can be mapped.
    init?(
        size: Int, folders: [String],
        fill: ((Int, UnsafeRawBufferPointer) throws(SystemFailure) -> Void) throws(SystemFailure) -> Void
    ) {
        guard size > 0 else { return nil }
        for folder in folders {
            let descriptor = Self.unnamed(in: folder)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            do throws(SystemFailure) {
                // Reserve all of the space before writing.
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

    /// A system call failed: the next folder is tried.
    struct SystemFailure: Error {}

    private static func unnamed(in folder: String) -> Int32 {
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

    /// Runs work of the engine, and releases pages during and after it.
    func releasingPages<R>(_ work: () throws(EngineError) -> R) throws(EngineError) -> R {
        let giving = PageRelease(self)
        defer { giving.end() }
        return try work()
    }

    /// Releases pages periodically until it ends.
    struct PageRelease {
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
        // The pages belong to a private mapping that was never written to, so later accesses read the file again.
        madvise(UnsafeMutableRawPointer(mutating: start), size, MADV_DONTNEED)
    }
}
