/// The kernel's list format for CPUs: `0-3,8,10-11`.
enum CPUList {
    /// The number of CPUs that the list names; nil if it names none or is not such a list.
    static func count(_ text: String) -> Int? {
        var count = 0
        var next = 0
        for part in text.trimmedASCII.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false)
            guard (1...2).contains(ends.count), let first = ends.first.flatMap({ Int($0) }),
                let last = ends.last.flatMap({ Int($0) }), first >= next, last >= first, last < 1 << 20
            else { return nil }
            count += last - first + 1
            next = last + 1
        }
        return count > 0 ? count : nil
    }
}

extension StringProtocol {
    /// Without the white space at both ends: the files of the kernel end with a newline.
    var trimmedASCII: String {
        let isSpace = { (character: Character) in character.isWhitespace }
        guard let start = firstIndex(where: { !isSpace($0) }), let end = lastIndex(where: { !isSpace($0) }) else {
            return ""
        }
        return String(self[start...end])
    }
}
