internal import FoundationEssentials
internal import Glibc

/// The folder of compiled models. Engines only add files to it; this type removes them.
public enum CompiledModelCache {
    /// The prefix of the name of a compiled model that is incomplete.
    package static let unfinished = ".export-"
    /// The suffix of the name of a model's reference answers.
    package static let answers = ".answers"
    /// The suffix of the name of a decision on a model's engine.
    package static let decision = ".engine"

    /// The result of ``prune(_:to:)``.
    public struct Pruned: Sendable, Hashable {
        /// The number of removed files, and their size in bytes.
        public var files = 0, bytes = 0
    }

    /// True if a folder contains readable compiled models. Blocks.
    public static func hasModels(_ folder: String) -> Bool {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).contains { name in
            name.hasSuffix(".blob") && access(folder + "/" + name, R_OK) == 0
        }
    }

    /// Removes compiled models, least recently used first, until the rest fits. Decisions on engines are removed last:
    /// they have only a few hundred bytes, and without its decision a model might change its engine.
    ///
    /// Removes only compiled models (`*.blob`), their reference answers (`*.answers`), decisions on engines
    /// (`*.engine`), and incomplete files that are at least an hour old. Data that a loaded model reads from its file
    /// remains until the model is unloaded. Blocks.
    /// - Parameters:
    ///   - folder: the folder of the cache; a missing folder counts as empty.
    ///   - limit: the maximum number of bytes that remain.
    @discardableResult
    public static func prune(_ folder: String, to limit: Int) -> Pruned {
        var files: [(path: String, size: Int, used: Int, isDecision: Bool)] = []
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            let path = folder + "/" + name, isUnfinished = name.hasPrefix(unfinished)
            var status = stat()
            guard isUnfinished || name.hasSuffix(".blob") || name.hasSuffix(answers) || name.hasSuffix(decision),
                lstat(path, &status) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            guard !isUnfinished else {
                if status.st_mtim.tv_sec < time(nil) - 3600 { unlink(path) }
                continue
            }
            // The file system may not update access times (noatime), so the later of access and modification time
            // counts.
            let used = max(status.st_atim.tv_sec, status.st_mtim.tv_sec)
            files.append((path, Int(status.st_size), used, name.hasSuffix(decision)))
        }
        var total = files.reduce(0) { $0 + $1.size }
        var pruned = Pruned()
        let order = files.sorted { $0.isDecision == $1.isDecision ? $0.used < $1.used : $1.isDecision }
        for file in order where total > limit {
            guard unlink(file.path) == 0 else { continue }
            total -= file.size
            pruned.files += 1
            pruned.bytes += file.size
        }
        return pruned
    }

    /// The reason a model that was just compiled is not in the cache; nil if it is, or if no obstacle is known (not
    /// every model is compiled into a file). The engine does not report this, and removes files that it could not write
    /// completely. Blocks.
    /// - Parameters:
    ///   - folder: the cache's folder.
    ///   - seconds: the time since the load of the model began.
    ///   - bytes: the size of the model's files. The compiled model has about the same size, or up to four times as
    ///     much for 8-bit weights.
    public static func obstacle(_ folder: String, seconds: Int, bytes: Int) -> String? {
        let since = time(nil) - seconds - 2
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let isKept = names.contains { name in
            var status = stat()
            return name.hasSuffix(".blob") && stat(folder + "/" + name, &status) == 0 && status.st_mtim.tv_sec >= since
        }
        guard !isKept else { return nil }
        let probe = "\(folder)/.probe-\(getpid())"
        let descriptor = open(probe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return errno == EEXIST ? nil : String(cString: strerror(errno)) }
        defer {
            close(descriptor)
            unlink(probe)
        }
        let piece = [UInt8](repeating: 0, count: 64 << 10)
        let written = piece.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard written == piece.count else { return String(cString: strerror(written < 0 ? errno : ENOSPC)) }
        var volume = statvfs()
        guard fstatvfs(descriptor, &volume) == 0 else { return nil }
        let (free, overflow) = UInt(volume.f_bavail).multipliedReportingOverflow(by: UInt(volume.f_frsize))
        let (wanted, tooMuch) = bytes.multipliedReportingOverflow(by: 4)
        return overflow || (!tooMuch && free >= UInt(clamping: wanted)) ? nil : String(cString: strerror(ENOSPC))
    }
}
