;; Drives Emacs and eglot with `brain lsp`: completes, jumps, renames, undoes, and reads diagnostics.
;; Environment: BRAIN is the program, VAULT a registered source with the files of `.ci/clients`.

(package-initialize)
(require 'eglot)
(require 'markdown-mode)
(require 'flymake)

(setq eglot-confirm-server-initiated-edits nil
      eglot-autoshutdown t
      eglot-send-changes-idle-time 0.1
      make-backup-files nil
      create-lockfiles nil)

(defvar vault (file-name-as-directory (getenv "VAULT")))

(defun check (condition &rest message)
  (unless condition
    (message "emacs: %S" message)
    (kill-emacs 1)))

(defun wait (what condition)
  (let ((end (+ (float-time) 20)))
;; Timers for idle time, which send changes, do not run without a keyboard.
    (while (and (not (funcall condition)) (< (float-time) end))
      (when eglot--managed-mode (eglot--signal-textDocument/didChange))
      (accept-process-output nil 0.05))
    (check (funcall condition) what)))

(defun text-of (name)
  (let ((path (concat vault name)))
    (if (file-exists-p path)
        (with-temp-buffer (insert-file-contents path) (buffer-string))
      "")))

(defun diagnostics ()
  (flymake-start)
  (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))

(find-file (concat vault "a.md"))
(markdown-mode)
(setq buffer-undo-list nil)
(eglot '(markdown-mode) (cons 'transient vault) 'eglot-lsp-server
       (list (getenv "BRAIN") "lsp") "markdown")
(wait "the server" (lambda () (eglot-current-server)))

;; Completion.
(goto-char (point-max))
(insert "see [[Meet")
(let* ((found (eglot-completion-at-point))
       (all (all-completions "Meet" (nth 2 found))))
  (check (equal all '("Meeting")) "completion" all)
  (insert "")
  (funcall (plist-get (nthcdr 3 found) :exit-function) (car all) 'finished))
(check (string-suffix-p "see [[Meeting]]" (buffer-string)) "accepted" (buffer-string))

;; Jump.
(goto-char (point-min))
(forward-char 5)
(xref-find-definitions (xref-backend-identifier-at-point 'eglot))
(check (equal (buffer-name) "Old.md") "the jump" (buffer-name))
(switch-to-buffer "a.md")

;; Diagnostics.
(wait "the diagnostic" (lambda () (equal (length (diagnostics)) 1)))
(with-temp-file (concat vault "later.md") (insert "here\n"))
(wait "no diagnostic any more" (lambda () (null (diagnostics))))

;; Rename: this buffer by eglot, closed notes and the file by brain.
(goto-char (point-min))
(forward-char 5)
(undo-boundary)
(eglot-rename "New")
(check (string-prefix-p "a [[New]] [[later]]" (buffer-string)) "the buffer" (buffer-string))
(undo-boundary)
(wait "the closed note" (lambda () (equal (text-of "b.md") "[[New]]\n")))
(wait "the file" (lambda () (and (file-exists-p (concat vault "New.md"))
                                 (not (file-exists-p (concat vault "Old.md"))))))
(check (null (get-buffer "b.md")) "a hidden buffer of a closed note")

;; Undo in this buffer alone, then turning the whole back.
(save-buffer)
(goto-char (point-min))
(search-forward "[[New]]")
(replace-match "[[Old]]" t t)
(wait "the explanation"
      (lambda () (seq-some (lambda (text) (string-match-p "\"Old\" is now \"New\"" text))
                           (diagnostics))))
(eglot-execute-command (eglot-current-server) "brain.renameBack" [])
(wait "the closed note as before" (lambda () (equal (text-of "b.md") "[[Old]]\n")))
(wait "the file as before" (lambda () (file-exists-p (concat vault "Old.md"))))

(message "emacs: completed, jumped, renamed, undone, diagnosed")
(kill-emacs 0)
