<?php

declare(strict_types=1);

namespace App;

use Symfony\Component\Form\AbstractType;
use Symfony\Component\Form\Extension\Core\Type\FileType;
use Symfony\Component\Form\Extension\Core\Type\TextareaType;
use Symfony\Component\Form\Extension\Core\Type\TextType;
use Symfony\Component\Form\FormBuilderInterface;
use Symfony\Component\Validator\Constraints\Image;
use Symfony\Component\Validator\Constraints\Length;
use Symfony\Component\Validator\Constraints\NotBlank;

final class NoteForm extends AbstractType
{
    public function buildForm(FormBuilderInterface $builder, array $options): void
    {
        $builder->add('title', TextType::class, ['constraints' => [new NotBlank(), new Length(['min' => 3, 'max' => 80])]]);
        $builder->add('text', TextareaType::class, ['constraints' => [new NotBlank()]]);
        $builder->add('picture', FileType::class, ['required' => false, 'constraints' => [new Image(['maxSize' => '4M'])]]);
    }
}
