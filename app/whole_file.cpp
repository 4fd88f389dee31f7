// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/whole_file.h"

#include <QFile>
#include <QFileInfo>
#include <QSaveFile>

namespace fusescope {

QString writeWhole(const QString& path, const QByteArray& bytes) {
    // What is still in the buffer of a file is only known to be written after flush(): closing does not tell.
    const auto writes = [&](QFileDevice& file) {
        return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.flush();
    };
    if (const QFileInfo there(path); there.exists() && !there.isFile()) { // QSaveFile would put a file in its place
        QFile device(path);
        return writes(device) ? QString() : device.errorString();
    }
    QSaveFile file(path);
    return writes(file) && file.commit() ? QString() : file.errorString();
}

} // namespace fusescope
