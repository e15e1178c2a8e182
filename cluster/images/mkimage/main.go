// Command mkimage packs folders and files into a one-layer image, written as
// a docker-archive that "ctr images import" reads. It needs no container
// engine, and equal input makes an equal archive.
package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// words is a flag that may be given more than once.
type words []string

func (w *words) String() string { return strings.Join(*w, " ") }

func (w *words) Set(s string) error {
	*w = append(*w, s)
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mkimage:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var (
		files, tags, entrypoint, cmd, env words
		flags                             = flag.NewFlagSet("mkimage", flag.ContinueOnError)
		root                              = flags.String("root", "", "folder that becomes the image's root")
		out                               = flags.String("o", "", "archive to write")
		user                              = flags.String("user", "", "user of the image")
		workdir                           = flags.String("workdir", "/", "working directory of the image")
		arch                              = flags.String("arch", "amd64", "architecture of the image")
	)
	flags.Var(&files, "file", "SOURCE=/path/in/image, executable (repeat)")
	flags.Var(&tags, "tag", "name of the image (repeat)")
	flags.Var(&entrypoint, "entrypoint", "word of the entry point (repeat)")
	flags.Var(&cmd, "cmd", "word of the default arguments (repeat)")
	flags.Var(&env, "env", "NAME=value (repeat)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || len(tags) == 0 {
		return errors.New("-o and -tag are needed")
	}

	layer, err := pack(*root, files)
	if err != nil {
		return err
	}
	img, err := image(layer, *arch, v1.Config{
		User:       *user,
		WorkingDir: *workdir,
		Entrypoint: entrypoint,
		Cmd:        cmd,
		Env:        append(words{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, env...),
	})
	if err != nil {
		return err
	}
	return write(*out, tags, img)
}

// image builds a one-layer image from an uncompressed layer.
func image(layer []byte, arch string, cfg v1.Config) (v1.Image, error) {
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer)), nil
	})
	if err != nil {
		return nil, err
	}
	img, err := mutate.Append(empty.Image, mutate.Addendum{Layer: l, History: v1.History{CreatedBy: "mkimage"}})
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.Architecture, file.OS, file.Config = arch, "linux", cfg
	return mutate.ConfigFile(img, file)
}

// write writes the archive beside its place first, so that a reader never
// sees half of it.
func write(out string, tags []string, img v1.Image) error {
	var buf bytes.Buffer
	if err := archive(&buf, tags, img); err != nil {
		return err
	}
	tmp := out + ".new"
	if err := os.WriteFile(tmp, buf.Bytes(), 0o644); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, out)
}

// archive writes a docker-archive. The writer of package tarball would put the
// names in an order that differs from run to run.
func archive(out io.Writer, tags []string, img v1.Image) error {
	d := tarball.Descriptor{}
	for _, t := range tags {
		tag, err := name.NewTag(t)
		if err != nil {
			return err
		}
		d.RepoTags = append(d.RepoTags, tag.Name())
	}
	w := tar.NewWriter(out)
	entry := func(name string, content []byte) error {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}
		err := w.WriteHeader(h)
		if err == nil {
			_, err = w.Write(content)
		}
		return err
	}

	digest, err := img.ConfigName()
	if err != nil {
		return err
	}
	config, err := img.RawConfigFile()
	if err != nil {
		return err
	}
	d.Config = digest.String()
	if err := entry(d.Config, config); err != nil {
		return err
	}
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	for _, l := range layers {
		digest, err := l.Digest()
		if err != nil {
			return err
		}
		r, err := l.Compressed()
		if err != nil {
			return err
		}
		content, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			return err
		}
		d.Layers = append(d.Layers, digest.Hex+".tar.gz")
		if err := entry(digest.Hex+".tar.gz", content); err != nil {
			return err
		}
	}
	manifest, err := json.Marshal(tarball.Manifest{d})
	if err != nil {
		return err
	}
	return errors.Join(entry("manifest.json", manifest), w.Close())
}

// pack makes the layer: the tree under root, then the single files. Times and
// user names are left out; owners and modes stay.
func pack(root string, files []string) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	if root != "" {
		if err := packTree(w, root); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		src, dst, ok := strings.Cut(f, "=")
		if !ok {
			return nil, fmt.Errorf("-file %s: want SOURCE=/path", f)
		}
		info, err := os.Stat(src)
		if err != nil {
			return nil, err
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(dst, "/"), Mode: 0o755, Size: info.Size()}
		if err := add(w, h, src); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func packTree(w *tar.Writer, root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		// A name with a leading dot at the top is a note about the folder.
		if err != nil || path == root || filepath.Dir(path) == filepath.Clean(root) && strings.HasPrefix(d.Name(), ".") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var link string
		if info.Mode()&fs.ModeSymlink != 0 {
			if link, err = os.Readlink(path); err != nil {
				return err
			}
		}
		h, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		h.Name = filepath.ToSlash(rel)
		if info.IsDir() {
			h.Name += "/"
		}
		h.Uname, h.Gname = "", ""
		return add(w, h, path)
	})
}

// add writes one entry, with src as the content of a regular file.
func add(w *tar.Writer, h *tar.Header, src string) error {
	h.ModTime, h.AccessTime, h.ChangeTime = time.Unix(0, 0), time.Time{}, time.Time{}
	h.Format = tar.FormatPAX
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	f, err := os.Open(src)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}
