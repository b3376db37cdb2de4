internal import Glibc

/// Strings as C's functions for processes take them.
package enum CStrings {
    /// Lends strings out: an array of pointers with nil at its end.
    package static func with<R>(
        _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R
    ) -> R {
        let pointers = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: texts.count + 1)
        for (index, text) in texts.enumerated() { (pointers + index).initialize(to: strdup(text)) }
        (pointers + texts.count).initialize(to: nil)
        defer {
            for index in texts.indices { free(pointers[index]) }
            pointers.deinitialize(count: texts.count + 1)
            pointers.deallocate()
        }
        return body(pointers)
    }
}
